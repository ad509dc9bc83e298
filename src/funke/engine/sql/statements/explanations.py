"""EXPLAIN: what was asked for, and how it would be run, with the names that Flink's plans have."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from funke.engine.config import flink_options as options
from funke.engine.errors import UnsupportedFeatureError
from funke.engine.sql.binding.changelog_functions import FromChangelog, ToChangelog
from funke.engine.sql.binding.correlations import Correlation
from funke.engine.sql.binding.expressions import (
    BoundColumn,
    BoundConstant,
    BoundExpression,
    BoundFunction,
    BoundSymbol,
)
from funke.engine.sql.binding.final_rows import FinalRows
from funke.engine.sql.binding.materialization import Materialization
from funke.engine.sql.binding.ranks import Deduplication, Normalization, Rank, WindowRank
from funke.engine.sql.binding.relations import (
    Aggregation,
    Calculation,
    Column,
    Constants,
    Limit,
    Relation,
    Scan,
    Sort,
    SortKey,
    UnionAll,
    inputs_of,
)
from funke.engine.sql.binding.semi_joins import SemiJoin
from funke.engine.sql.binding.set_operations import SetComparison
from funke.engine.sql.binding.stream_orders import TemporalSort
from funke.engine.sql.binding.watermark_assigner import WatermarkAssigner
from funke.engine.sql.binding.window_relations import (
    OverAggregation,
    PartitionAggregation,
    SortedAggregation,
    WindowAggregation,
    WindowTable,
)
from funke.engine.sql.changelog.change_kinds import Kinds, kinds_of
from funke.engine.sql.changelog.node_text import node_text, semi_join_text
from funke.engine.sql.operators.local_aggregate import can_be_local
from funke.engine.sql.rules.set_comparisons import REPEATED
from funke.engine.sql.rules.shared_relations import repeated_relations, reuse_of
from funke.engine.sql.spark_plans.plan_choice import PlanChoice, exchanges_in, spark_parts
from funke.engine.sql.statements.insert_plans import plan_insert
from funke.engine.sql.statements.job_plans import plan_choice, planned_inserts, planned_rows
from funke.engine.sql.statements.outcome import InsertPlan, Outcome, text_outcome
from funke.engine.sql.statements.table_session import TableSession
from funke.engine.sql.syntax import statements as syntax
from funke.engine.types.logical.data_type import DataType
from funke.engine.types.logical.families import with_nullable
from funke.engine.types.logical.interval_types import DayTimeIntervalType, YearMonthIntervalType
from funke.engine.types.logical.sql_text import to_full_sql_text
from funke.engine.types.row import RowKind

__all__ = ["explain_inserts", "explain_relation", "explain_statement", "plan_text"]

_INFIX = frozenset({"+", "-", "*", "/", "%", "=", "<>", "<", ">", "<=", ">=", "and", "or", "||"})
CHANGELOG_MODE = "CHANGELOG_MODE"
PLAN_ADVICE = "PLAN_ADVICE"
_SHORT_KINDS = {RowKind.INSERT: "I", RowKind.UPDATE_BEFORE: "UB", RowKind.UPDATE_AFTER: "UA", RowKind.DELETE: "D"}


def explain_statement(session: TableSession, statement: syntax.Explain) -> Outcome:
    explained = statement.statement
    details = tuple(each.upper() for each in statement.details)
    if isinstance(explained, syntax.QueryStatement):
        return text_outcome(explain_relation(session, session.bind(explained.query), details), is_plain=True)
    if isinstance(explained, syntax.Insert):
        return text_outcome(explain_inserts(session, [plan_insert(session, explained)], details), is_plain=True)
    if isinstance(explained, syntax.StatementSet):
        plans = [plan_insert(session, each) for each in explained.inserts]
        return text_outcome(explain_inserts(session, plans, details), is_plain=True)
    raise UnsupportedFeatureError(f"EXPLAIN {type(explained).__name__}")


def explain_relation(session: TableSession, relation: Relation, details: Sequence[str] = ()) -> str:
    """The plan of a query."""
    planned = [_Plan(planned_rows(session, relation))]
    return _sections(session, [_Plan(relation)], planned, details) + _batch_section(session, planned)


def explain_inserts(session: TableSession, plans: Sequence[InsertPlan], details: Sequence[str] = ()) -> str:
    """The plan of rows for tables."""
    planned = _with_sinks(planned_inserts(session, plans))
    return _sections(session, _with_sinks(plans), planned, details) + _batch_section(session, planned)


def plan_text(relation: Relation, sink: InsertPlan | None = None) -> str:
    """What a job runs, as a tree with the kinds of changes between its nodes; `relation` is planned already."""
    return "\n".join(_tree(_Plan(relation, sink), _Style(is_infix=True, has_kinds=True)))


def _with_sinks(plans: Sequence[InsertPlan]) -> list[_Plan]:
    return [_Plan(each.relation, each) for each in plans]


@dataclass(frozen=True)
class _Plan:
    relation: Relation
    sink: InsertPlan | None = None


@dataclass(frozen=True)
class _Style:
    """How a section writes its nodes and expressions."""

    is_logical: bool = False
    is_infix: bool = False
    has_kinds: bool = False
    # What the job computes once, by its number less one.
    reused: tuple[Relation, ...] = ()


def _sections(session: TableSession, asked: Sequence[_Plan], planned: Sequence[_Plan], details: Sequence[str]) -> str:
    has_advice = PLAN_ADVICE in details
    physical = f"Optimized Physical Plan{' With Advice' if has_advice else ''}"
    sections = (
        ("Abstract Syntax Tree", asked, _Style(is_logical=True), ""),
        (
            physical,
            planned,
            _Style(has_kinds=CHANGELOG_MODE in details),
            _advice(session, planned) if has_advice else "",
        ),
        ("Optimized Execution Plan", planned, _Style(is_infix=True, reused=_reused(session, planned)), ""),
    )
    return "\n".join(f"== {title} ==\n{_trees(plans, style)}{more}" for title, plans, style, more in sections)


def _reused(session: TableSession, plans: Sequence[_Plan]) -> tuple[Relation, ...]:
    return tuple(repeated_relations([each.relation for each in plans], reuse_of(session.settings)))


def _advice(session: TableSession, plans: Sequence[_Plan]) -> str:
    """What would make the plan cheaper, as far as options do."""
    is_folded = session.settings.get("table.exec.mini-batch.enabled", "false").lower() == "true"
    if not session.is_streaming or is_folded or not any(_has_aggregation(each.relation) for each in plans):
        return "\nNo advice: no option is known that makes this plan cheaper.\n"
    return (
        "\nadvice[1]: GROUP BY tells a change for every row. With 'table.exec.mini-batch.enabled' = 'true', "
        "'table.exec.mini-batch.allow-latency' and 'table.exec.mini-batch.size' rows are gathered, aggregated before "
        "they are sent on, and tell one change for each key.\n"
    )


def _has_aggregation(relation: Relation) -> bool:
    return isinstance(relation, Aggregation) or any(_has_aggregation(each) for each in inputs_of(relation))


def _batch_section(session: TableSession, plans: Sequence[_Plan]) -> str:
    """In batch mode: what Spark computes, and why slots compute the rest."""
    if session.is_streaming:
        return ""
    choice = plan_choice(session)
    lines = [line for each in plans for line in _computed_by(choice, each)]
    return "\n".join(["\n== Batch Execution ==", *(lines or ["slots: no rows have to meet"]), ""])


def _computed_by(choice: PlanChoice, plan: _Plan) -> Iterator[str]:
    style, relation = _Style(is_infix=True), plan.relation
    if plan.sink is not None and plan.sink.is_written_by_spark:
        yield f"Spark: {_tree(plan, style)[0]}"
        return
    for part in spark_parts(relation):
        yield f"Spark: {_title(part.input, style)}"
    for each in exchanges_in(relation):
        reason = choice.hindrance(each) or f"{options.BATCH_PLAN.key} is '{choice.mode}'"
        yield f"slots: {_title(each, style)}, because {reason}"


def _title(relation: Relation, style: _Style) -> str:
    return _lines(relation.input if isinstance(relation, FinalRows) else relation, style)[0]


def _trees(plans: Sequence[_Plan], style: _Style) -> str:
    """As in Flink's plans: what several sinks use stands before them, what one uses twice at its first place."""
    first = style.reused if len(plans) > 1 else ()
    trees = [_tree(_Plan(each), style, [other for other in first if other is not each]) for each in first]
    trees += [_tree(each, style, list(first)) for each in plans]
    return "\n".join("\n".join(tree) + "\n" for tree in trees)


def _tree(plan: _Plan, style: _Style, shown: list[Relation] | None = None) -> list[str]:
    lines = _lines(plan.relation, style, shown) if plan.sink is None else _with_sink(plan, style, shown)
    # Columns of windows have names that no query can write.
    return [line.replace("\x00window_", "w$").replace("\x00", "") for line in lines]


def _with_sink(plan: _Plan, style: _Style, shown: list[Relation] | None) -> list[str]:
    assert plan.sink is not None
    fields = ", ".join(each.name for each in plan.relation.columns)
    name = "LogicalSink" if style.is_logical else "Sink"
    kinds = ", changelogMode=[NONE]" if style.has_kinds else ""
    conflicts = "" if style.is_logical else _conflicts_text(plan.relation, plan.sink)
    line = f"{name}(table=[{plan.sink.name}], fields=[{fields}]{conflicts}{kinds})"
    relation = plan.relation.input if isinstance(plan.relation, Materialization) else plan.relation
    return [line, *_below([_lines(relation, style, shown)])]


def _conflicts_text(relation: Relation, sink: InsertPlan) -> str:
    """As in Flink's plans a sink says it, not a node of its own."""
    materialized = ", upsertMaterialize=[true]" if isinstance(relation, Materialization) else ""
    strategy = "" if sink.on_conflict is None else f", conflictStrategy=[{sink.on_conflict.upper()}]"
    return materialized + strategy


def _lines(relation: Relation, style: _Style, shown: list[Relation] | None = None) -> list[str]:
    """The lines of a relation and of everything that it reads; `shown` are those that stand somewhere already."""
    shown = [] if shown is None else shown
    number = next((place for place, each in enumerate(style.reused, 1) if each == relation), None)
    if number is not None:
        if relation in shown:
            return [f"Reused(reference_id=[{number}])"]
        shown.append(relation)
    titles = _TITLES.get(type(relation), _plain_titles)(relation, style)
    if style.has_kinds:
        # What stands before the node itself, such as an exchange, has what the node reads.
        sources = [relation, *(inputs_of(relation)[:1] * (len(titles) - 1))]
        titles = [f"{each[:-1]}, changelogMode=[{_kinds_text(kinds_of(of))}])" for each, of in zip(titles, sources)]
    sides = relation.sides if isinstance(relation, SemiJoin) else ()
    if number is not None:
        titles = [f"{titles[0]}(reuse_id=[{number}])", *titles[1:]]
    trees = [_side_lines(each, style, shown) for each in sides]
    lines = _below(trees or [_lines(each, style, shown) for each in inputs_of(relation)])
    for title in reversed(titles):
        lines = [title, *lines] if title is titles[-1] else [title, *_below([lines])]
    return lines


def _side_lines(side: Calculation, style: _Style, shown: list[Relation]) -> list[str]:
    """The rows of one side of a join, without what says which side it is."""
    rows = replace(side, columns=side.columns[:-1], expressions=side.expressions[:-1])
    columns = rows.input.columns
    is_same = rows.condition is None and [_text(each, _Style()) for each in rows.expressions] == [
        each.name for each in columns
    ]
    source = rows.input if is_same else rows
    exchange = _exchange(source, range(len(rows.columns)))
    if style.has_kinds:
        exchange = f"{exchange[:-1]}, changelogMode=[{_kinds_text(kinds_of(source))}])"
    return [exchange, *_below([_lines(source, style, shown)])]


def _kinds_text(kinds: Kinds) -> str:
    return ",".join(short for kind, short in _SHORT_KINDS.items() if kind in kinds)


def _below(trees: Sequence[list[str]]) -> list[str]:
    """Trees under a node, with Flink's lines between them."""
    lines: list[str] = []
    for place, tree in enumerate(trees):
        is_last = place == len(trees) - 1
        first, others = ("+- ", "   ") if is_last else (":- ", ":  ")
        lines += [f"{first}{tree[0]}", *(f"{others}{each}" for each in tree[1:])]
    return lines


def _plain_titles(relation: Relation, style: _Style) -> list[str]:
    if not style.is_logical:
        if isinstance(relation, Aggregation) and can_be_local(relation):
            text = node_text(relation)
            return [f"Global{text}", _exchange(relation.input, relation.keys), f"Local{text}"]
        if isinstance(relation, (Aggregation, WindowAggregation, WindowRank)):
            return [node_text(relation), _exchange(relation.input, relation.keys)]
        if isinstance(relation, OverAggregation | PartitionAggregation | SortedAggregation):
            return [node_text(relation), _exchange(relation.input, relation.partition_by)]
        if isinstance(relation, WindowTable) and relation.windows.kind == "session":
            return [node_text(relation), _exchange(relation.input, relation.partition_by or ())]
        if isinstance(relation, (WindowTable, ToChangelog, FromChangelog)):
            return [node_text(relation)]
    fields = ", ".join(each.name for each in relation.columns)
    return [f"{'Logical' if style.is_logical else ''}{type(relation).__name__}(select=[{fields}])"]


def _exchange(source: Relation, places: Sequence[int]) -> str:
    keys = ", ".join(source.columns[place].name for place in places)
    return f"Exchange(distribution=[{f'hash[{keys}]' if keys else 'single'}])"


def _scan_titles(scan: Scan, style: _Style) -> list[str]:
    table = ", ".join(scan.path) or "*anonymous*"
    if style.is_logical:
        return [f"LogicalTableScan(table=[[{table}]])"]
    fields = ", ".join(each.name for each in scan.columns)
    return [f"TableSourceScan(table=[[{table}]], fields=[{fields}])"]


def _constants_titles(constants: Constants, style: _Style) -> list[str]:
    rows = ", ".join(f"{{ {', '.join(map(_value_text, row))} }}" for row in constants.rows[:_MOST_ROWS])
    more = ", …" if len(constants.rows) > _MOST_ROWS else ""
    return [f"{'Logical' if style.is_logical else ''}Values(tuples=[[{rows}{more}]])"]


def _calculation_titles(calculation: Calculation, style: _Style) -> list[str]:
    names = [each.name for each in calculation.columns]
    condition = calculation.condition
    if style.is_logical:
        parts = (f"{name}=[{_text(each, style)}]" for name, each in zip(names, calculation.expressions))
        project = f"LogicalProject({', '.join(parts)})"
        return [project] if condition is None else [project, f"LogicalFilter(condition=[{_text(condition, style)}])"]
    selected = ", ".join(_named_text(name, each, style) for name, each in zip(names, calculation.expressions))
    where = "" if condition is None else f", where=[{_text(condition, style)}]"
    return [f"Calc(select=[{selected}]{where})"]


def _watermark_titles(assigner: WatermarkAssigner, style: _Style) -> list[str]:
    name = "LogicalWatermarkAssigner" if style.is_logical else "WatermarkAssigner"
    rowtime, watermark = assigner.columns[assigner.rowtime].name, _text(assigner.expression, style)
    return [f"{name}(rowtime=[{rowtime}], watermark=[{watermark}])"]


def _union_titles(union: UnionAll, style: _Style) -> list[str]:
    fields = ", ".join(each.name for each in union.columns)
    return ["LogicalUnion(all=[true])" if style.is_logical else f"Union(all=[true], union=[{fields}])"]


def _comparison_titles(comparison: SetComparison, style: _Style) -> list[str]:
    name = "LogicalIntersect" if comparison.is_in_both else "LogicalMinus"
    return [f"{name}(all=[{str(comparison.is_all).lower()}])"]


def _semi_join_titles(join: SemiJoin, style: _Style) -> list[str]:
    return [semi_join_text(join, style.is_infix)]


def _correlation_titles(correlation: Correlation, style: _Style) -> list[str]:
    fields = ",".join(each.name for each in correlation.columns)
    if style.is_logical:
        return [f"LogicalCorrelate(select=[{fields}])"]
    function = correlation.function
    arguments = [_text(each, style) for each in correlation.arguments]
    made = f"$UNNEST_ROWS$1({', '.join(arguments)})" if function is None else f"{function.name}({', '.join(arguments)})"
    if function is None and arguments[0].startswith(REPEATED):
        made = arguments[0]
    name = "Correlate" if function is None else "PythonCorrelate"
    kind = "LEFT" if correlation.keeps_all else "INNER"
    return [f"{name}(invocation=[{made}], correlate=[table({made})], select=[{fields}], joinType=[{kind}])"]


def _sort_titles(sort: Sort, style: _Style) -> list[str]:
    limit = _limit_parts(sort.offset, sort.limit)
    if style.is_logical:
        keys = [f"sort{place}=[${each.index}]" for place, each in enumerate(sort.keys)]
        keys += [f"dir{place}=[{'ASC' if each.is_ascending else 'DESC'}]" for place, each in enumerate(sort.keys)]
        return [f"LogicalSort({', '.join((*keys, *limit))})"]
    order = _order_text(sort.columns, sort.keys)
    name = "TemporalSort" if isinstance(sort, TemporalSort) else "SortLimit" if limit else "Sort"
    return [f"{name}({', '.join((f'orderBy=[{order}]', *limit))})"]


def _order_text(columns: Sequence[Column], keys: Sequence[SortKey]) -> str:
    return ", ".join(f"{columns[each.index].name} {'ASC' if each.is_ascending else 'DESC'}" for each in keys)


def _names(columns: Sequence[Column], places: Sequence[int]) -> str:
    return ", ".join(columns[place].name for place in places)


def _rank_titles(rank: Rank, style: _Style) -> list[str]:
    strategy = rank.strategy.value
    if rank.row_key:
        strategy += f"[{','.join(map(str, rank.row_key))}]"
    exchange = _exchange(rank.input, rank.keys)
    order = _order_text(rank.columns, rank.order)
    if rank.is_limit:
        limits = f"offset=[{rank.first - 1}], fetch=[{rank.last - rank.first + 1}]"
        if not rank.order:
            return [f"Limit({limits})", exchange]
        return [f"SortLimit(orderBy=[{order}], {limits}, strategy=[{strategy}])", exchange]
    fields = ", ".join(each.name for each in rank.columns)
    keys = _names(rank.columns, rank.keys)
    return [
        f"Rank(strategy=[{strategy}], rankType=[ROW_NUMBER], rankRange=[rankStart={rank.first}, rankEnd={rank.last}], "
        f"partitionBy=[{keys}], orderBy=[{order}], select=[{fields}])",
        exchange,
    ]


def _deduplication_titles(relation: Deduplication, style: _Style) -> list[str]:
    keep = "LastRow" if relation.keeps_last else "FirstRow"
    time = "PROCTIME" if relation.rowtime is None else "ROWTIME"
    keys = _names(relation.columns, relation.keys)
    inserts = str(not relation.keeps_last).lower()
    title = f"Deduplicate(keep=[{keep}], key=[{keys}], order=[{time}], outputInsertOnly=[{inserts}])"
    return [title, _exchange(relation.input, relation.keys)]


def _normalization_titles(relation: Normalization, style: _Style) -> list[str]:
    keys = _names(relation.columns, relation.keys)
    return [f"ChangelogNormalize(key=[{keys}])", _exchange(relation.input, relation.keys)]


def _limit_titles(limit: Limit, style: _Style) -> list[str]:
    parts = ", ".join(_limit_parts(limit.offset, limit.limit))
    return [f"LogicalSort({parts})" if style.is_logical else f"Limit({parts})"]


def _limit_parts(offset: int, limit: int | None) -> list[str]:
    parts = [f"offset=[{offset}]"] if offset else []
    return parts if limit is None else [*parts, f"fetch=[{limit}]"]


_MOST_ROWS = 10
_TITLES: dict[type[Relation], Callable[[Any, _Style], list[str]]] = {
    Scan: _scan_titles,
    Constants: _constants_titles,
    Calculation: _calculation_titles,
    UnionAll: _union_titles,
    SetComparison: _comparison_titles,
    SemiJoin: _semi_join_titles,
    Correlation: _correlation_titles,
    Sort: _sort_titles,
    TemporalSort: _sort_titles,
    Rank: _rank_titles,
    Deduplication: _deduplication_titles,
    Normalization: _normalization_titles,
    Limit: _limit_titles,
    WatermarkAssigner: _watermark_titles,
}


def _named_text(name: str, expression: BoundExpression, style: _Style) -> str:
    text = _text(expression, style)
    return text if text == name else f"{text} AS {name}"


def _text(expression: BoundExpression, style: _Style) -> str:
    if isinstance(expression, BoundColumn):
        return f"${expression.index}" if style.is_logical else expression.name
    if isinstance(expression, BoundConstant):
        return _value_text(expression.value) + _interval_text(expression.type)
    if isinstance(expression, BoundSymbol):
        word = expression.word
        return f"FLAG({word})" if not isinstance(word, DataType) else to_full_sql_text(word)
    assert isinstance(expression, BoundFunction)
    return _function_text(expression, style)


def _function_text(expression: BoundFunction, style: _Style) -> str:
    name = expression.call.function.name
    arguments = [_text(each, style) for each in expression.arguments]
    if name in ("cast", "try_cast"):
        target = to_full_sql_text(with_nullable(expression.type, True))
        short = f"{name.upper()}({arguments[0]}"
        return f"{short}):{target}" if style.is_logical else f"{short} AS {target})"
    if name in _INFIX and style.is_infix and len(arguments) > 1:
        return f"({f' {name.upper()} '.join(arguments)})"
    return f"{name if name in _INFIX else name.upper()}({', '.join(arguments)})"


def _interval_text(data_type: DataType) -> str:
    if isinstance(data_type, DayTimeIntervalType):
        return ":INTERVAL SECOND"
    return ":INTERVAL MONTH" if isinstance(data_type, YearMonthIntervalType) else ""


def _value_text(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return str(value).lower() if isinstance(value, bool) else str(value)
