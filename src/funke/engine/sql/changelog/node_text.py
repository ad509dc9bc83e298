"""Relations as the nodes of Flink's plans name them, for errors."""

from __future__ import annotations

from funke.engine.sql.binding.changelog_functions import FromChangelog, ToChangelog
from funke.engine.sql.binding.relations import Aggregation, BoundAggregate, Column, Relation
from funke.engine.sql.binding.window_relations import Firing, OverAggregation, WindowAggregation, Windows, WindowTable

__all__ = ["node_text"]


def node_text(relation: Relation) -> str:
    """The node with what it does: GroupAggregate(groupBy=[id], select=[id, COUNT(*) AS EXPR$0])."""
    if isinstance(relation, Aggregation):
        return _aggregation(relation)
    if isinstance(relation, WindowTable):
        return f"WindowTableFunction(window=[{_windows(relation)}])"
    if isinstance(relation, WindowAggregation):
        return _window_aggregation(relation)
    if isinstance(relation, OverAggregation):
        return _over_aggregation(relation)
    if isinstance(relation, (ToChangelog, FromChangelog)):
        return _changelog_function(relation)
    return f"{type(relation).__name__}({', '.join(map(_name, relation.columns))})"


def _aggregation(aggregation: Aggregation) -> str:
    inputs = aggregation.input.columns
    keys = [_name(inputs[place]) for place in aggregation.keys]
    calls = [f"{_call(each, inputs)} AS EXPR${number}" for number, each in enumerate(aggregation.aggregates)]
    group_by = f"groupBy=[{', '.join(keys)}], " if keys else ""
    return f"GroupAggregate({group_by}select=[{', '.join([*keys, *calls])}])"


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
    windows = relation.windows
    assert windows is not None
    parts = [f"time_col=[{_name(inputs[relation.time.column])}]"]
    parts += [f"{name}=[{_duration(value)}]" for name, value in _sizes(windows) if value]
    if isinstance(relation, WindowTable) and relation.partition_by:
        keys = ", ".join(_name(inputs[place]) for place in relation.partition_by)
        parts.append(f"partition keys=[{keys}]")
    return f"{windows.kind.upper()}({', '.join(parts)})"


def _sizes(windows: Windows) -> list[tuple[str, int]]:
    names = {"session": ("gap", ""), "cumulate": ("max_size", "step")}
    size, slide = names.get(windows.kind, ("size", "slide"))
    return [(size, windows.size_ms), (slide, windows.slide_ms), ("offset", windows.offset_ms)]


def _duration(value_ms: int) -> str:
    """In the largest unit that has no rest: 5 s, 90 min."""
    units = (("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1_000))
    unit, length = next((each for each in units if value_ms % each[1] == 0), ("ms", 1))
    return f"{value_ms // length} {unit}"


def _over_aggregation(over: OverAggregation) -> str:
    inputs = over.input.columns
    keys = ", ".join(_name(inputs[place]) for place in over.partition_by)
    partition_by = f"partitionBy=[{keys}], " if keys else ""
    lower = "UNBOUNDED" if over.preceding is None else str(over.preceding)
    frame = f" {'ROWS' if over.is_rows else 'RANGE'} BETWEEN {lower} PRECEDING AND CURRENT ROW"
    calls = [f"{_call(each, inputs)} AS w0$o{number}" for number, each in enumerate(over.aggregates)]
    return (
        f"OverAggregate({partition_by}orderBy=[{_name(inputs[over.time.column])} ASC], window=[{frame}], "
        f"select=[{', '.join([*map(_name, inputs), *calls])}])"
    )


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
