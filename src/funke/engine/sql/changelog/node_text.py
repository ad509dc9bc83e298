"""Relations as the nodes of Flink's plans name them, for errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from funke.engine.sql.binding.changelog_functions import FromChangelog, ToChangelog
from funke.engine.sql.binding.ranks import WindowRank
from funke.engine.sql.binding.relations import Aggregation, BoundAggregate, Column, Relation, SortKey
from funke.engine.sql.binding.semi_joins import SemiJoin
from funke.engine.sql.binding.window_grouping import window_columns
from funke.engine.sql.binding.window_relations import (
    Firing,
    Frame,
    OverAggregation,
    PartitionAggregation,
    SortedAggregation,
    WindowAggregation,
    Windows,
    WindowTable,
)
from funke.engine.sql.changelog.upsert_keys import unique_keys_of

__all__ = ["node_text", "semi_join_text"]


def node_text(relation: Relation) -> str:
    """The node with what it does: GroupAggregate(groupBy=[id], select=[id, COUNT(*) AS EXPR$0])."""
    if isinstance(relation, Aggregation):
        return _aggregation(relation)
    if isinstance(relation, WindowTable):
        return f"WindowTableFunction(window=[{_windows(relation)}])"
    if isinstance(relation, WindowAggregation):
        return _window_aggregation(relation)
    if isinstance(relation, (OverAggregation, SortedAggregation)):
        return _over_aggregation(relation)
    if isinstance(relation, PartitionAggregation):
        return _partition_aggregation(relation)
    if isinstance(relation, WindowRank):
        return _window_rank(relation)
    if isinstance(relation, (ToChangelog, FromChangelog)):
        return _changelog_function(relation)
    if isinstance(relation, SemiJoin):
        return semi_join_text(relation)
    return f"{type(relation).__name__}({', '.join(map(_name, relation.columns))})"


def _aggregation(aggregation: Aggregation) -> str:
    inputs = aggregation.input.columns
    keys = [_name(inputs[place]) for place in aggregation.keys]
    calls = [f"{_call(each, inputs)} AS EXPR${number}" for number, each in enumerate(aggregation.aggregates)]
    group_by = f"groupBy=[{', '.join(keys)}], " if keys else ""
    return f"GroupAggregate({group_by}select=[{', '.join([*keys, *calls])}])"


def semi_join_text(join: SemiJoin, is_infix: bool = False) -> str:
    """Join(joinType=[LeftSemiJoin], where=[=(a, b)], select=[a], leftInputSpec=[…], rightInputSpec=[…])."""
    own = list(map(_name, join.columns))
    others = [f"{name}0" if name in own else name for name in join.right_names]
    equal = [
        _equality(one, other, is_infix, column.type._nullable, len(own) == 1)
        for one, other, column in zip(own, others, join.columns)
    ]
    where = equal[0] if len(equal) == 1 else f"({' AND '.join(equal)})" if is_infix else f"AND({', '.join(equal)})"
    left_spec, right_spec = (
        "JoinKeyContainsUniqueKey" if unique_keys_of(each) else "NoUniqueKey" for each in join.sides
    )
    kind = "LeftAntiJoin" if join.is_anti else "LeftSemiJoin"
    specs = f"leftInputSpec=[{left_spec}], rightInputSpec=[{right_spec}]"
    return f"Join(joinType=[{kind}], where=[{where}], select=[{', '.join(own)}], {specs})"


def _equality(one: str, other: str, is_infix: bool, may_be_null: bool, is_alone: bool) -> str:
    """NULL is equal to NULL."""
    same = f"({one} = {other})" if is_infix else f"=({one}, {other})"
    if not may_be_null:
        return same
    if is_alone:
        return f"IS NOT DISTINCT FROM({one}, {other})"
    if is_infix:
        return f"({same} OR ({one} IS NULL AND {other} IS NULL))"
    return f"OR({same}, AND(IS NULL({one}), IS NULL({other})))"


def _changelog_function(relation: ToChangelog | FromChangelog) -> str:
    name = "TO_CHANGELOG" if isinstance(relation, ToChangelog) else "FROM_CHANGELOG"
    return f"ProcessTableFunction(invocation=[{name}(TABLE(#0))], select=[{','.join(map(_name, relation.columns))}])"


def _window_aggregation(aggregation: WindowAggregation) -> str:
    inputs = aggregation.input.columns
    keys = [_name(inputs[place]) for place in aggregation.keys]
    calls = [f"{_call(each, inputs)} AS EXPR${number}" for number, each in enumerate(aggregation.aggregates)]
    group_by = f"groupBy=[{', '.join(keys)}], " if keys else ""
    bounds = ["start('w$) AS window_start", "end('w$) AS window_end"]
    emit = "" if aggregation.firing is None else f", emit=[{_firing(aggregation.firing)}]"
    return (
        f"WindowAggregate({group_by}window=[{_windows(aggregation)}], "
        f"select=[{', '.join([*keys, *calls, *bounds])}]{emit})"
    )


def _firing(firing: Firing) -> str:
    """early delay 1000 millisecond, late no delay"""
    delays = (("early", firing.early_ms), ("late", firing.late_ms))
    return ", ".join(
        f"{name} delay {delay} millisecond" if delay else f"{name} no delay"
        for name, delay in delays
        if delay is not None
    )


def _windows(relation: WindowTable | WindowAggregation) -> str:
    """TUMBLE(time_col=[ts], size=[5 s]); rows that carry their windows: WINDOW(win_start=[…], win_end=[…])."""
    inputs = relation.input.columns
    if isinstance(relation, WindowAggregation) and relation.window_columns is not None:
        start, end = (_name(inputs[place]) for place in relation.window_columns)
        return f"WINDOW(win_start=[{start}], win_end=[{end}])"
    keys = relation.partition_by if isinstance(relation, WindowTable) else ()
    time = f"time_col=[{_name(inputs[relation.time.column])}]"
    return _windows_at(time, relation, [inputs[place] for place in keys or ()])


def _windows_at(place: str, maker: WindowTable | WindowAggregation, keys: Sequence[Column]) -> str:
    windows = maker.windows
    assert windows is not None
    parts = [place, *(f"{name}=[{_duration(value)}]" for name, value in _sizes(windows) if value)]
    if keys:
        parts.append(f"partition keys=[{', '.join(map(_name, keys))}]")
    return f"{windows.kind.upper()}({', '.join(parts)})"


def _window_rank(rank: WindowRank) -> str:
    found = window_columns(rank.input)
    assert found is not None
    start, end = (_name(rank.columns[place]) for place in rank.window_columns)
    window = _windows_at(f"win_start=[{start}], win_end=[{end}]", found.maker, _session_keys(found.maker))
    keys = ", ".join(_name(rank.columns[place]) for place in rank.keys)
    if rank.is_deduplication:
        keep, order = "LastRow" if rank.keeps_last else "FirstRow", _name(rank.columns[rank.order[0].index])
        return (
            f"WindowDeduplicate(window=[{window}], keep=[{keep}], partitionKeys=[{keys}], orderKey=[{order}], "
            "order=[ROWTIME])"
        )
    shown = [*map(_name, rank.input.columns), *(["w0$o0"] if rank.has_number else [])]
    order = ", ".join(
        f"{_name(rank.columns[each.index])} {'ASC' if each.is_ascending else 'DESC'}" for each in rank.order
    )
    return (
        f"WindowRank(window=[{window}], rankType=[ROW_NUMBER], rankRange=[rankStart={rank.first}, "
        f"rankEnd={rank.last}], partitionBy=[{keys}], orderBy=[{order}], "
        f"select=[{', '.join(shown)}])"
    )


def _session_keys(maker: WindowTable | WindowAggregation) -> Sequence[Column]:
    if maker.windows is None or maker.windows.kind != "session":
        return ()
    places = maker.keys if isinstance(maker, WindowAggregation) else maker.partition_by or ()
    return [maker.input.columns[place] for place in places]


def _sizes(windows: Windows) -> list[tuple[str, int]]:
    names = {"session": ("gap", ""), "cumulate": ("max_size", "step")}
    size, slide = names.get(windows.kind, ("size", "slide"))
    return [(size, windows.size_ms), (slide, windows.slide_ms), ("offset", windows.offset_ms)]


def _duration(value_ms: int) -> str:
    """In the largest unit that has no rest: 5 s, 90 min."""
    units = (("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1_000))
    unit, length = next((each for each in units if value_ms % each[1] == 0), ("ms", 1))
    return f"{value_ms // length} {unit}"


def _over_aggregation(over: OverAggregation | SortedAggregation) -> str:
    inputs = over.input.columns
    keys = ", ".join(_name(inputs[place]) for place in over.partition_by)
    partition_by = f"partitionBy=[{keys}], " if keys else ""
    preceding, order = (
        (over.preceding, over.time.column) if isinstance(over, OverAggregation) else (None, over.order.index)
    )
    lower = "UNBOUNDED" if preceding is None else str(preceding)
    frame = f" {'ROWS' if over.is_rows else 'RANGE'} BETWEEN {lower} PRECEDING AND CURRENT ROW"
    calls = [f"{_call(each, inputs)} AS w0$o{number}" for number, each in enumerate(over.aggregates)]
    return (
        f"OverAggregate({partition_by}orderBy=[{_name(inputs[order])} ASC], window=[{frame}], "
        f"select=[{', '.join([*map(_name, inputs), *calls])}])"
    )


def _partition_aggregation(over: PartitionAggregation) -> str:
    """As Flink's plans have it, with a frame for each call."""
    inputs = over.input.columns
    keys = ", ".join(_name(inputs[place]) for place in over.partition_by)
    order = ", ".join(_order(key, inputs) for key in over.order)
    windows: dict[str, list[str]] = {}
    for number, each in enumerate(over.calls):
        windows.setdefault(_frame(each.frame), []).append(f"{_call(each.aggregate, inputs)} AS w0$o{number}")
    parts = [f"partitionBy=[{keys}]"] if keys else []
    parts += [f"orderBy=[{order}]"] if order else []
    parts += [f"window#{place}=[{', '.join(calls)}{frame}]" for place, (frame, calls) in enumerate(windows.items())]
    select = ", ".join([*map(_name, inputs), *(f"w0$o{number}" for number in range(len(over.calls)))])
    return f"OverAggregate({', '.join([*parts, f'select=[{select}]'])})"


def _order(key: SortKey, inputs: tuple[Column, ...]) -> str:
    return f"{_name(inputs[key.index])} {'ASC' if key.is_ascending else 'DESC'}"


def _frame(frame: Frame) -> str:
    lower = "UNBOUNDED PRECEDING" if frame.lower is None else _bound(frame.lower)
    upper = "UNBOUNDED FOLLOWING" if frame.upper is None else _bound(frame.upper)
    return f" {'ROWS' if frame.is_rows else 'RANGE'} BETWEEN {lower} AND {upper}"


def _bound(distance: Any) -> str:
    if not distance:
        return "CURRENT ROW"
    return f"{abs(distance)} {'PRECEDING' if distance < 0 else 'FOLLOWING'}"


def _call(aggregate: BoundAggregate, inputs: tuple[Column, ...]) -> str:
    call = aggregate.call
    arguments = [_name(inputs[place]) for place in aggregate.arguments if place >= 0]
    distinct = "DISTINCT " if call.is_distinct else ""
    condition = "" if aggregate.condition is None else f" FILTER {_name(inputs[aggregate.condition])}"
    return f"{call.function.name.upper()}({distinct}{', '.join(arguments) or '*'}){condition}"


def _name(column: Column) -> str:
    # Columns that are computed for an aggregation have a number behind their name.
    name, _, number = column.name.rpartition("$")
    return name if name and number.isdigit() and name != "EXPR" else column.name
