"""Conditions of a stream's pattern as expressions over the columns of its rows, or of its tuples."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from funke.engine.operators.patterns.automaton import Automaton
from funke.engine.operators.patterns.conditions import Condition, OfColumns, with_masks
from funke.engine.operators.patterns.pattern import Pattern, with_conditions
from funke.engine.sql.binding import Column, column_of
from funke.engine.sql.binding.expression_binder import ExpressionBinder
from funke.engine.sql.binding.scope import Scope, ScopeColumn
from funke.engine.sql.functions.function import Session
from funke.engine.sql.operators.calculate import as_schema, schema_of
from funke.engine.sql.operators.column_matching import bits_of_masks, mask_bits
from funke.engine.sql.stream_types import data_type_of
from funke.engine.types import RowTypeInfo, TupleTypeInfo
from funke.engine.types.columns.form_change import RowsToColumns
from funke.engine.types.information.arrow_types import field_names

__all__ = ["StreamRows", "bits_of_events", "columns_of_stream", "with_bound_conditions"]

StreamRows = RowTypeInfo | TupleTypeInfo


def columns_of_stream(rows: StreamRows) -> tuple[Column, ...]:
    """The columns of a stream's rows, or of its tuples: f0, f1 and so on."""
    return tuple(Column(name, data_type_of(each)) for name, each in zip(field_names(rows), rows.get_field_types()))


def with_bound_conditions(pattern: Pattern, rows: StreamRows) -> Pattern:
    """The pattern with expressions of syntax bound to the columns of a stream."""
    scope = Scope(tuple(ScopeColumn(each.name, each.type) for each in columns_of_stream(rows)))
    binder = ExpressionBinder(scope, Session())

    def bound(mask: OfColumns) -> Condition:
        return replace(mask, expression=binder.bind_condition(mask.expression, "WHERE"))

    return with_conditions(pattern, lambda condition: with_masks(condition, bound))


def bits_of_events(
    automaton: Automaton, rows: StreamRows, events: list[Any]
) -> tuple[list[int], int, dict[OfColumns, int]]:
    """For each event the expressions that are true, as bits; the bits of whole conditions, and the bit of each one."""
    bits, condition_bits = bits_of_masks(automaton)
    batch = as_schema(RowsToColumns(rows).convert(events, None), schema_of(columns_of_stream(rows)))
    masks = [(bit, column_of(mask.expression)) for mask, bit in bits.items()]
    masked_bits: list[int] = mask_bits(masks, batch.data).tolist()
    return masked_bits, condition_bits, bits
