"""Refuses event-time temporal joins with tables that have no versions: those without a key, or without event time.

A table has the key that it declares, or the one that a query gives its rows: that of a deduplication.
"""

from __future__ import annotations

from funke.engine.errors import UnsupportedFeatureError
from funke.engine.flink_exceptions import ValidationException
from funke.engine.sql.binding.expressions import BoundColumn
from funke.engine.sql.binding.relations import Calculation, Relation, inputs_of
from funke.engine.sql.binding.temporal_joins import TemporalJoin
from funke.engine.sql.changelog.upsert_keys import upsert_key_of
from funke.engine.types.logical.column_types import to_column_type
from funke.engine.types.logical.sql_text import to_sql_text

__all__ = ["check_versions"]

_NEEDED = "Event-Time Temporal Table Join requires both primary key and row time attribute in versioned table, but no"


def check_versions(relation: Relation) -> None:
    """Refuses joins whose keys do not say which version is meant."""
    for each in inputs_of(relation):
        check_versions(each)
    if isinstance(relation, TemporalJoin):
        _check(relation)


def _check(join: TemporalJoin) -> None:
    left, side = join.input.inputs
    assert isinstance(left, Calculation) and isinstance(side, Calculation)
    table = side.input
    primary = upsert_key_of(table)
    if not primary:
        raise ValidationException(f"{_NEEDED} primary key can be found.")
    if join.right_time is None:
        raise ValidationException(f"{_NEEDED} row time attribute can be found.")
    keys = (side.expressions[place] for place in join.keys)
    given = {each.index for each in keys if isinstance(each, BoundColumn)}
    if not given >= set(primary):
        needed, found = (", ".join(table.columns[place].name for place in each) for each in (primary, sorted(given)))
        raise ValidationException(
            f"Temporal table's primary key [{needed}] must be included in the equivalence condition of temporal join, "
            f"but current temporal join condition is [{found}]."
        )
    for place in join.keys:
        one, other = left.expressions[place].type, side.expressions[place].type
        if to_column_type(one) != to_column_type(other):
            raise UnsupportedFeatureError(
                f"a temporal join by {to_sql_text(one)} and {to_sql_text(other)}", "cast one of them"
            )
