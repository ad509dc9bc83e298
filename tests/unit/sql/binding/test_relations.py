"""Relations: what they read, and the same ones reading something else."""

from __future__ import annotations

from funke.engine.sql.binding.relations import Aggregation, Column, Relation, Scan, UnionAll, inputs_of, with_inputs
from funke.engine.types.logical import DataTypes

COLUMNS = (Column("a", DataTypes.INT()),)
FIRST, SECOND, OTHER = Scan(COLUMNS, "first"), Scan(COLUMNS, "second"), Scan(COLUMNS, "other")
GROUPED = Aggregation(COLUMNS, FIRST, (0,), ())
BOTH = UnionAll(COLUMNS, (FIRST, SECOND))


def test_inputs_are_relations_and_tuples_of_them() -> None:
    assert inputs_of(FIRST) == ()
    assert inputs_of(GROUPED) == (FIRST,)
    assert inputs_of(BOTH) == (FIRST, SECOND)


def test_other_inputs_make_another_relation() -> None:
    def changed(relation: Relation) -> Relation:
        return OTHER if relation is FIRST else relation

    assert with_inputs(GROUPED, changed) == Aggregation(COLUMNS, OTHER, (0,), ())
    assert with_inputs(BOTH, changed) == UnionAll(COLUMNS, (OTHER, SECOND))
    assert GROUPED.input is FIRST and BOTH.inputs == (FIRST, SECOND)


def test_the_same_inputs_make_no_copy() -> None:
    for relation in (FIRST, GROUPED, BOTH):
        assert with_inputs(relation, lambda each: each) is relation
