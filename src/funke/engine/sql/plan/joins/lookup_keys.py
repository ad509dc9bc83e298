"""From a lookup join as it is meant to the node: which conditions are keys, and what is left of the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from funke.engine.flink_exceptions import TableException
from funke.engine.operators.operator import MAX_WATERMARK
from funke.engine.sql.binding import (
    BoundColumn,
    BoundConstant,
    BoundExpression,
    BoundFunction,
    Column,
    Relation,
    columns_in,
    conjuncts,
    is_deterministic,
    moved,
    symbol_of,
    with_columns,
)
from funke.engine.sql.binding.joins.lookup_joins import LookupJoin as LogicalLookupJoin
from funke.engine.sql.binding.joins.regular_joins import JoinKind, all_true, distinct_names
from funke.engine.sql.binding.joins.snapshot_joins import LoadPhase, SnapshotJoin
from funke.engine.sql.functions.catalog import FUNCTIONS
from funke.engine.sql.functions.function import bind
from funke.engine.sql.plan.calc import Calc
from funke.engine.sql.plan.joins.join_keys import with_keys
from funke.engine.sql.plan.joins.lateral_snapshot_join import lateral_snapshot_join_of
from funke.engine.sql.plan.joins.lookup_join import LookupJoin, LookupKey
from funke.engine.sql.plan.node import PlanNode, as_node
from funke.engine.sql.plan.table_scan import TableScan
from funke.engine.types.logical import DataType, to_column_type, with_nullable
from funke.engine.types.logical.casts import is_injective_cast

__all__ = ["lookup_join_of"]


@dataclass
class _Conditions:
    """The conditions of a join by what they look at; those on the table's rows are in terms of its own columns."""

    # By the column of the table: the value that it is equal to.
    keys: dict[int, BoundExpression] = field(default_factory=dict)
    # The conditions that keys are made of.
    origins: dict[int, BoundExpression] = field(default_factory=dict)
    before: list[BoundExpression] = field(default_factory=list)
    where: list[BoundExpression] = field(default_factory=list)
    # On the columns of both sides, as the query sees them.
    pairs: list[BoundExpression] = field(default_factory=list)


def lookup_join_of(join: LogicalLookupJoin) -> PlanNode:
    """The node of a lookup join whose input is a node already."""
    if join.table.is_loaded_for_lookups:
        return _loaded(join)
    name = ".".join(join.path)
    conditions = _divided(join)
    if not conditions.keys:
        raise TableException(f"Temporal table join requires an equality condition on fields of table [{name}].")
    source = join.table
    for each in conditions.where:
        source = source.with_condition(each) or source
    if source.lookup_table() is None:
        raise TableException(
            "Processing-time temporal join is not supported yet. The connector of table "
            f"[{name}] has no lookup by keys: JOIN LATERAL SNAPSHOT(input => TABLE …) joins what it has now."
        )
    width = len(join.input.columns)
    computed = [each for each in conditions.keys.values() if not isinstance(each, BoundConstant)]
    side, indexes = with_keys(_filtered(join.input, conditions.before), computed)
    side = _with_names(side, width)
    added = len(side.columns) - width
    node = LookupJoin(
        (*side.columns, *join.columns[width:]),
        side,
        source,
        join.path,
        join.primary_key,
        _keys(conditions, side, dict(zip(map(id, computed), indexes))),
        join.expressions,
        all_true(conditions.where),
        _behind_keys(all_true(conditions.pairs), width, added),
        join.keeps_all,
        join.settings,
    )
    if not added:
        return node
    same = (
        BoundColumn(each.type, index + (added if index >= width else 0), each.name, each.time)
        for index, each in enumerate(join.columns)
    )
    return Calc(join.columns, node, tuple(same))


def _loaded(join: LogicalLookupJoin) -> PlanNode:
    """The join with a table that the job reads once: rows wait until it is there."""
    width = len(join.input.columns)
    scan = TableScan(join.table.columns, join.table, join.path, primary_key=join.primary_key)
    table_columns = tuple(Column(each.name, own.type) for each, own in zip(join.columns[width:], join.expressions))
    kind: JoinKind = "left" if join.keeps_all else "inner"
    load = LoadPhase(MAX_WATERMARK)
    right = Calc(table_columns, scan, join.expressions)
    return lateral_snapshot_join_of(
        SnapshotJoin(join.columns, join.input, right, kind, join.condition, None, load, ttl_ms=0)
    )


def _with_names(side: PlanNode, width: int) -> PlanNode:
    """As in Flink's plans a column that is only cast keeps its name, with a number behind it."""
    if not isinstance(side, Calc) or len(side.columns) == width:
        return side
    columns = list(side.columns)
    for index in range(width, len(columns)):
        key = side.expressions[index]
        if isinstance(key, BoundFunction) and key.call.function.name == "cast":
            source = key.arguments[0]
            columns[index] = replace(columns[index], name=f"{source.name}0" if isinstance(source, BoundColumn) else "")
    names = distinct_names([each.name or f"$f{index}" for index, each in enumerate(columns)])
    return replace(side, columns=tuple(replace(each, name=name) for each, name in zip(columns, names)))


def _keys(conditions: _Conditions, side: PlanNode, indexes: dict[int, int]) -> tuple[LookupKey, ...]:
    keys: list[LookupKey] = []
    for column, value in conditions.keys.items():
        if isinstance(value, BoundConstant):
            keys.append(LookupKey(column, value))
            continue
        index = indexes[id(value)]
        keys.append(LookupKey(column, BoundColumn(value.type, index, side.columns[index].name)))
    return tuple(keys)


def _behind_keys(condition: BoundExpression | None, width: int, added: int) -> BoundExpression | None:
    """A condition on both sides, with the computed keys between their columns."""
    if condition is None or not added:
        return condition
    return moved(condition, {each: each + (added if each >= width else 0) for each in columns_in([condition])})


def _divided(join: LogicalLookupJoin) -> _Conditions:
    width = len(join.input.columns)
    indexes = {width + index: _moved_right(each, width) for index, each in enumerate(join.expressions)}
    conditions = _Conditions()
    for each in [] if join.condition is None else conjuncts(join.condition):
        written = with_columns(each, lambda column: indexes.get(column.index, column))
        used = list(columns_in([written]))
        if _add_key(conditions, each, written, width, join.table.columns):
            continue
        if used and min(used) >= width and is_deterministic(each):
            conditions.where.append(_moved_right(written, -width))
        elif used and max(used) < width and not join.keeps_all and is_deterministic(each):
            conditions.before.append(each)
        else:
            conditions.pairs.append(each)
    return conditions


def _add_key(
    conditions: _Conditions, condition: BoundExpression, written: BoundExpression, width: int, columns: Sequence[Any]
) -> bool:
    """Adds the key that a condition is; True if that is all it says. A constant is a key and stays a condition."""
    if not isinstance(written, BoundFunction) or written.call.function.name != "=":
        return False
    first, second = written.arguments
    for column, value in ((first, second), (second, first)):
        if not isinstance(column, BoundColumn) or column.index < width:
            continue
        index, column_type = column.index - width, columns[column.index - width].type
        used = list(columns_in([value]))
        is_constant = isinstance(value, BoundConstant) and value.value is not None
        if is_constant and _is_same_type(value.type, column_type):
            conditions.keys.setdefault(index, value)
            return False
        if used and max(used) < width:
            if index in conditions.keys and not isinstance(conditions.keys[index], BoundConstant):
                # As in Flink the last one is looked up.
                conditions.pairs.append(conditions.origins[index])
            conditions.origins[index] = condition
            conditions.keys[index] = value if _is_same_type(value.type, column_type) else _cast(value, column_type)
            # A cast may lose something.
            return _is_same_type(value.type, column_type) or is_injective_cast(value.type, column_type)
    return False


def _is_same_type(one: DataType, other: DataType) -> bool:
    return bool(to_column_type(one) == to_column_type(other))


def _cast(value: BoundExpression, column_type: DataType) -> BoundExpression:
    word = symbol_of(with_nullable(column_type, True))
    name = "cast" if is_injective_cast(value.type, column_type) else "try_cast"
    call = bind(FUNCTIONS[name], [value.as_argument(), word.as_argument()])
    return BoundFunction(call.result, call, (value, word))


def _moved_right(expression: BoundExpression, by: int) -> BoundExpression:
    return with_columns(expression, lambda column: replace(column, index=column.index + by))


def _filtered(side: Relation, conditions: Sequence[BoundExpression]) -> PlanNode:
    node = as_node(side)
    if not conditions:
        return node
    same = (BoundColumn(each.type, index, each.name, each.time) for index, each in enumerate(side.columns))
    return Calc(side.columns, node, tuple(same), all_true(conditions))
