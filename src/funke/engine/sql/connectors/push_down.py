"""Lets sources read only what a query needs: its columns, the files that its conditions allow, rows up to its limit.

A pass over the tree of relations, between binding and building streams. A relation of an unknown kind gets all columns
and rows, and the pass goes on below it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar

from funke.engine.sql.binding import (
    BoundColumn,
    BoundExpression,
    Calculation,
    Limit,
    Relation,
    Scan,
    columns_in,
    conjuncts,
    is_deterministic,
    moved,
    with_columns,
    with_inputs,
)
from funke.engine.sql.binding.watermark_assigner import WatermarkAssigner
from funke.engine.sql.connectors.table_source import TableSource

__all__ = ["push_down"]

R = TypeVar("R", bound=Relation)


def push_down(relation: R) -> R:
    """Return a relation with the same rows and columns that reads less."""
    if isinstance(relation, Calculation):
        return _pushed_below(relation)  # type: ignore[return-value]
    if isinstance(relation, Limit) and relation.limit is not None:
        return replace(relation, input=_limited(push_down(relation.input), relation.offset + relation.limit))
    changed: R = with_inputs(relation, push_down)
    return changed


def _pushed_below(relation: Calculation) -> Calculation:
    conditions = [] if relation.condition is None else [relation.condition]
    filtered = _filtered(relation.input, [part for each in conditions for part in conjuncts(each)])
    narrow, numbers = _narrowed(filtered, set(columns_in([*relation.expressions, *conditions])))
    return replace(
        relation,
        input=narrow,
        expressions=tuple(moved(each, numbers) for each in relation.expressions),
        condition=None if relation.condition is None else moved(relation.condition, numbers),
    )


def _filtered(relation: Relation, conditions: Sequence[BoundExpression]) -> Relation:
    """A relation whose source may leave out rows for which a condition is not true."""
    if isinstance(relation, Calculation):
        indexes = {index: each for index, each in enumerate(relation.expressions) if isinstance(each, BoundColumn)}
        plain = [
            with_columns(each, lambda column: indexes[column.index])
            for each in conditions
            if set(columns_in([each])) <= indexes.keys()
        ]
        return replace(relation, input=_filtered(relation.input, plain))
    if isinstance(relation, WatermarkAssigner):
        return replace(relation, input=_filtered(relation.input, conditions))
    if isinstance(relation, Scan) and isinstance(relation.table, TableSource):
        table = relation.table
        for each in conditions:
            # The condition stays in the plan as well: a source may skip whole parts of files, and not single rows.
            table = (table.with_condition(each) if is_deterministic(each) else None) or table
        return replace(relation, table=table)
    return relation


def _limited(relation: Relation, rows: int) -> Relation:
    """A relation whose source need not read more than the first rows."""
    # Behind a filter the first rows of the source may be none of the result's.
    if isinstance(relation, Calculation) and relation.condition is None:
        return replace(relation, input=_limited(relation.input, rows))
    if isinstance(relation, WatermarkAssigner):
        return replace(relation, input=_limited(relation.input, rows))
    if isinstance(relation, Scan) and isinstance(relation.table, TableSource):
        table = relation.table.with_limit(rows)
        return relation if table is None else replace(relation, table=table)
    return relation


def _narrowed(relation: Relation, needed: set[int]) -> tuple[Relation, dict[int, int]]:
    """A relation with at least the needed columns, and the new indexes of the old columns."""
    # A batch without columns has no rows.
    kept = sorted(needed) or [0]
    numbers = {old: new for new, old in enumerate(kept)}
    if isinstance(relation, Scan) and isinstance(relation.table, TableSource) and len(kept) < len(relation.columns):
        table = relation.table.with_columns(kept)
        if table is not None:
            return replace(relation, columns=_chosen(relation.columns, kept), table=table), numbers
    if isinstance(relation, Calculation):
        chosen = replace(
            relation,
            columns=_chosen(relation.columns, kept),
            expressions=_chosen(relation.expressions, kept),
        )
        return push_down(chosen), numbers
    if isinstance(relation, WatermarkAssigner):
        return _narrowed_watermarks(relation, needed)
    return push_down(relation), {index: index for index in range(len(relation.columns))}


def _narrowed_watermarks(relation: WatermarkAssigner, needed_above: set[int]) -> tuple[Relation, dict[int, int]]:
    # Watermarks are computed here, even if the query does not show the column.
    needed = needed_above | {relation.rowtime} | set(columns_in([relation.expression]))
    narrow, numbers = _narrowed(relation.input, needed)
    olds = {new: old for old, new in numbers.items()}
    columns = tuple(relation.columns[olds[index]] for index in range(len(narrow.columns)))
    expression = moved(relation.expression, numbers)
    changed = replace(relation, columns=columns, input=narrow, rowtime=numbers[relation.rowtime], expression=expression)
    return changed, numbers


def _chosen(values: tuple[Any, ...], indexes: Sequence[int]) -> tuple[Any, ...]:
    return tuple(values[index] for index in indexes)
