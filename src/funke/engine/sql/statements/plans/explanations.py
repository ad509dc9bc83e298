"""EXPLAIN: a query as it was asked for and as it would be run, with the names of Flink's plans."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from funke.engine.errors import UnsupportedFeatureError
from funke.engine.sql.binding.relations import (
    Aggregation,
    Calculation,
    Constants,
    Limit,
    Relation,
    Scan,
    Sort,
    UnionAll,
    inputs_of,
)
from funke.engine.sql.binding.set_operations import SetComparison
from funke.engine.sql.binding.subqueries.correlations import Correlation
from funke.engine.sql.binding.watermark_assigner import WatermarkAssigner
from funke.engine.sql.plan import (
    Distribution,
    ExplainStyle,
    Hash,
    Kinds,
    PlanNode,
    as_node,
    expression_text,
    limit_parts,
)
from funke.engine.sql.plan.changelogs.final_rows import FinalRows
from funke.engine.sql.plan.changelogs.sink_materialize import SinkMaterialize
from funke.engine.sql.plan.state_growth import growth_below
from funke.engine.sql.plan.values import Values
from funke.engine.sql.rules.shared_relations import repeated_relations, reuse_of
from funke.engine.sql.spark_plans.plan_choice import PlanChoice, exchanges_in, spark_parts
from funke.engine.sql.statements.outcome import InsertPlan, Outcome, text_outcome
from funke.engine.sql.statements.plans.insert_plans import plan_insert
from funke.engine.sql.statements.plans.job_plans import plan_choice, planned_inserts, planned_rows
from funke.engine.sql.statements.table_session import TableSession
from funke.engine.sql.syntax import statements as syntax
from funke.engine.types.row import RowKind

__all__ = ["explain_inserts", "explain_relation", "explain_statement", "plan_text"]

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
    """The plan of a job as a tree with the kinds of changes between its nodes; `relation` is planned already."""
    return "\n".join(_tree(_Plan(relation, sink), _Style(is_infix=True, has_kinds=True)))


def _with_sinks(plans: Sequence[InsertPlan]) -> list[_Plan]:
    return [_Plan(each.relation, each) for each in plans]


@dataclass(frozen=True)
class _Plan:
    relation: Relation
    sink: InsertPlan | None = None


@dataclass(frozen=True)
class _Style:
    """The form in which a section writes its nodes and expressions."""

    is_logical: bool = False
    is_infix: bool = False
    has_kinds: bool = False
    # What the job computes once, by its number less one.
    reused: tuple[Relation, ...] = ()

    @property
    def expressions(self) -> ExplainStyle:
        return ExplainStyle(self.is_logical, self.is_infix)


def _sections(session: TableSession, asked: Sequence[_Plan], planned: Sequence[_Plan], details: Sequence[str]) -> str:
    has_advice = PLAN_ADVICE in details
    physical = f"Optimized Physical Plan{' With Advice' if has_advice else ''}"
    # As in Flink: the query as asked for, the nodes that it was planned as (with kinds of changes, if asked), and the
    # nodes that run, where a part that several use stands once.
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
    """The options that would make the plan cheaper, and the state that its joins keep."""
    is_folded = session.settings.get("table.exec.mini-batch.enabled", "false").lower() == "true"
    lines: list[str] = []
    if session.is_streaming and not is_folded and any(_has_aggregation(each.relation) for each in plans):
        lines.append(
            "GROUP BY tells a change for every row. With 'table.exec.mini-batch.enabled' = 'true', "
            "'table.exec.mini-batch.allow-latency' and 'table.exec.mini-batch.size' rows are gathered, aggregated "
            "before they are sent on, and tell one change for each key."
        )
    if session.is_streaming:
        lines += dict.fromkeys(
            f"the state of {growth.owner} {growth.text}"
            for each in plans
            for growth in growth_below(as_node(each.relation))
        )
    if not lines:
        return "\nNo advice: no option is known that makes this plan cheaper.\n"
    return "\n" + "".join(f"advice[{number}]: {line}\n" for number, line in enumerate(lines, 1))


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
        yield f"slots: {_title(each, style)}, because {choice.reason(each)}"


def _title(relation: Relation, style: _Style) -> str:
    return _lines(relation.input if isinstance(relation, FinalRows) else relation, style)[0]


def _trees(plans: Sequence[_Plan], style: _Style) -> str:
    """As in Flink's plans: what several sinks use stands before them, what one uses twice at its first use."""
    first = style.reused if len(plans) > 1 else ()
    trees = [_tree(_Plan(each), style, [other for other in first if other is not each]) for each in first]
    trees += [_tree(each, style, list(first)) for each in plans]
    return "\n".join("\n".join(tree) + "\n" for tree in trees)


def _tree(plan: _Plan, style: _Style, printed: list[Relation] | None = None) -> list[str]:
    lines = _lines(plan.relation, style, printed) if plan.sink is None else _with_sink(plan, style, printed)
    # Columns of windows have names that no query can write.
    return [line.replace("\x00window_", "w$").replace("\x00", "") for line in lines]


def _with_sink(plan: _Plan, style: _Style, printed: list[Relation] | None) -> list[str]:
    assert plan.sink is not None
    fields = ", ".join(each.name for each in plan.relation.columns)
    name = "LogicalSink" if style.is_logical else "Sink"
    kinds = ", changelogMode=[NONE]" if style.has_kinds else ""
    conflicts = "" if style.is_logical else _conflicts_text(plan.relation, plan.sink)
    line = f"{name}(table=[{plan.sink.name}], fields=[{fields}]{conflicts}{kinds})"
    relation = plan.relation.input if isinstance(plan.relation, SinkMaterialize) else plan.relation
    return [line, *_below([_lines(relation, style, printed)])]


def _conflicts_text(relation: Relation, sink: InsertPlan) -> str:
    """As in Flink's plans a sink says it, not a node of its own."""
    materialized = ", upsertMaterialize=[true]" if isinstance(relation, SinkMaterialize) else ""
    strategy = "" if sink.on_conflict is None else f", conflictStrategy=[{sink.on_conflict.upper()}]"
    return materialized + strategy


def _lines(relation: Relation, style: _Style, printed: list[Relation] | None = None) -> list[str]:
    """The lines of a relation and of everything that it reads; `printed` are those that stand somewhere already."""
    printed = [] if printed is None else printed
    number = next((index for index, each in enumerate(style.reused, 1) if each == relation), None)
    if number is not None:
        if relation in printed:
            return [f"Reused(reference_id=[{number}])"]
        printed.append(relation)
    trees = [_lines(each, style, printed) for each in inputs_of(relation)]
    if isinstance(relation, PlanNode):
        lines = _node_lines(relation, trees, style)
    else:
        lines = _logical_lines(relation, trees, style)
    return lines if number is None else [f"{lines[0]}(reuse_id=[{number}])", *lines[1:]]


def _node_lines(node: PlanNode, trees: list[list[str]], style: _Style) -> list[str]:
    """The operators of a node above what it reads, with the exchanges in front of each."""
    lines: list[str] = []
    for phase in node.phases() if node.explains_phases else (node,):
        sides = zip(phase.inputs, phase.distributions(), trees, strict=True)
        trees = [_exchanged(phase, *each, style) for each in sides]
        title = _with_kinds(phase.title(style.expressions), phase, style)
        # As in Flink's plans hints stand in the physical plan alone.
        hints = "" if style.is_infix else phase.hints_text()
        lines = [f"{title[:-1]}{hints})" if hints else title, *_below(trees)]
        trees = [lines]
    return lines


def _exchanged(
    node: PlanNode, source: PlanNode, distribution: Distribution, tree: list[str], style: _Style
) -> list[str]:
    if not isinstance(distribution, Hash) or not node.explains_exchange:
        return tree
    return [_with_kinds(_exchange(source, distribution.keys), source, style), *_below([tree])]


def _with_kinds(title: str, node: PlanNode, style: _Style) -> str:
    return f"{title[:-1]}, changelogMode=[{_kinds_text(node.changelog())}])" if style.has_kinds else title


def _logical_lines(relation: Relation, trees: list[list[str]], style: _Style) -> list[str]:
    """The query as it was asked for: a filter stands below its projection."""
    lines = _below(trees)
    titles = _TITLES.get(type(relation), _plain_titles)(relation, style)
    for title in reversed(titles):
        lines = [title, *lines] if title is titles[-1] else [title, *_below([lines])]
    return lines


def _kinds_text(kinds: Kinds) -> str:
    return ",".join(short for kind, short in _SHORT_KINDS.items() if kind in kinds)


def _below(trees: Sequence[list[str]]) -> list[str]:
    """Trees under a node, with Flink's lines between them."""
    lines: list[str] = []
    for index, tree in enumerate(trees):
        is_last = index == len(trees) - 1
        first, others = ("+- ", "   ") if is_last else (":- ", ":  ")
        lines += [f"{first}{tree[0]}", *(f"{others}{each}" for each in tree[1:])]
    return lines


def _plain_titles(relation: Relation, style: _Style) -> list[str]:
    fields = ", ".join(each.name for each in relation.columns)
    return [f"Logical{type(relation).__name__}(select=[{fields}])"]


def _exchange(source: Relation, indexes: Sequence[int]) -> str:
    keys = ", ".join(source.columns[index].name for index in indexes)
    return f"Exchange(distribution=[{f'hash[{keys}]' if keys else 'single'}])"


def _scan_titles(scan: Scan, style: _Style) -> list[str]:
    return [f"LogicalTableScan(table=[[{', '.join(scan.path) or '*anonymous*'}]])"]


def _constants_titles(constants: Constants, style: _Style) -> list[str]:
    return [f"Logical{Values(**vars(constants)).title(style.expressions)}"]


def _calculation_titles(calculation: Calculation, style: _Style) -> list[str]:
    names = [each.name for each in calculation.columns]
    condition = calculation.condition
    parts = [expression_text(each, style.expressions) for each in calculation.expressions]
    project = f"LogicalProject({', '.join(f'{name}=[{part}]' for name, part in zip(names, parts))})"
    if condition is None:
        return [project]
    return [project, f"LogicalFilter(condition=[{expression_text(condition, style.expressions)}])"]


def _watermark_titles(assigner: WatermarkAssigner, style: _Style) -> list[str]:
    rowtime, watermark = (
        assigner.columns[assigner.rowtime].name,
        expression_text(assigner.expression, style.expressions),
    )
    return [f"LogicalWatermarkAssigner(rowtime=[{rowtime}], watermark=[{watermark}])"]


def _union_titles(union: UnionAll, style: _Style) -> list[str]:
    return ["LogicalUnion(all=[true])"]


def _comparison_titles(comparison: SetComparison, style: _Style) -> list[str]:
    name = "LogicalIntersect" if comparison.is_in_both else "LogicalMinus"
    return [f"{name}(all=[{str(comparison.is_all).lower()}])"]


def _correlation_titles(correlation: Correlation, style: _Style) -> list[str]:
    fields = ",".join(each.name for each in correlation.columns)
    return [f"LogicalCorrelate(select=[{fields}])"]


def _sort_titles(sort: Sort, style: _Style) -> list[str]:
    keys = [f"sort{number}=[${each.index}]" for number, each in enumerate(sort.keys)]
    keys += [f"dir{number}=[{'ASC' if each.is_ascending else 'DESC'}]" for number, each in enumerate(sort.keys)]
    return [f"LogicalSort({', '.join((*keys, *limit_parts(sort.offset, sort.limit)))})"]


def _limit_titles(limit: Limit, style: _Style) -> list[str]:
    return [f"LogicalSort({', '.join(limit_parts(limit.offset, limit.limit))})"]


_TITLES: dict[type[Relation], Callable[[Any, _Style], list[str]]] = {
    Scan: _scan_titles,
    Constants: _constants_titles,
    Calculation: _calculation_titles,
    UnionAll: _union_titles,
    SetComparison: _comparison_titles,
    Correlation: _correlation_titles,
    Sort: _sort_titles,
    Limit: _limit_titles,
    WatermarkAssigner: _watermark_titles,
}
