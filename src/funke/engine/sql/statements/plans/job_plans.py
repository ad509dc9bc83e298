"""Optimised relations: unused columns and retractions are not sent, and batches emit final results once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from funke.engine.config import flink_options as options
from funke.engine.operators.time.clock import SystemClock
from funke.engine.sql.binding.current_time import with_start
from funke.engine.sql.binding.merged_calculations import merged
from funke.engine.sql.binding.relations import Relation
from funke.engine.sql.connectors.push_down import push_down
from funke.engine.sql.connectors.unreadable_source import reject_unreadable
from funke.engine.sql.plan import ALL_KINDS, EVERY_WATERMARK, FOR_LATE_ROWS, Kinds, WatermarkStep, as_node
from funke.engine.sql.plan.changelogs.changelog_mode import for_consumer, require_kinds
from funke.engine.sql.plan.changelogs.constraint_enforcer import ConstraintEnforcer
from funke.engine.sql.plan.changelogs.sink_materialize import SinkMaterialize
from funke.engine.sql.plan.pruning import without_unused
from funke.engine.sql.rules.execution_modes import in_execution_mode, lowered
from funke.engine.sql.rules.shared_relations import Reuse, reuse_of
from funke.engine.sql.rules.shared_sources import with_shared_scans, with_shared_watermarks
from funke.engine.sql.rules.stream_rejections import reject_in_batches, reject_in_streams
from funke.engine.sql.spark_plans.plan_choice import PlanChoice
from funke.engine.sql.statements.change_settings import change_settings
from funke.engine.sql.statements.plans.conflicts import Target, choice_of, conflict_of
from funke.engine.types.row import RowKind

if TYPE_CHECKING:
    from funke.engine.sql.statements.outcome import InsertPlan
    from funke.engine.sql.statements.table_session import TableSession

__all__ = ["plan_choice", "planned_inserts", "planned_rows", "planned_stream"]


def planned_rows(
    session: TableSession,
    relation: Relation,
    accepted: Kinds = ALL_KINDS,
    consumer: str = "collect",
    step: WatermarkStep | None = None,
) -> Relation:
    """A relation for a consumer that takes some kinds of changes, and watermarks; rejects what cannot be had so."""
    planned = _planned(session, _started(session, relation, SystemClock().now_ms()), accepted, consumer, step)
    # Event times and watermarks do not come out of Spark: consumers of them get rows from slots.
    return planned if session.is_streaming or step is not None else plan_choice(session).applied(planned)


def _planned(
    session: TableSession, relation: Relation, accepted: Kinds, consumer: str, step: WatermarkStep | None
) -> Relation:
    reject_unreadable(relation)
    relation = lowered(relation, session.settings, session.is_streaming)
    (reject_in_streams if session.is_streaming else reject_in_batches)(relation)
    relation = in_execution_mode(relation, session.settings, session.is_streaming)
    require_kinds(relation, accepted, consumer)
    # Before changes are decided: a result that no consumer reads would otherwise be sent as an update when it changes.
    pruned: Any = without_unused(relation)  # type: ignore[arg-type]
    changes = for_consumer(pruned, accepted, change_settings(session, relation))
    return _with_sources(session, merged(changes), step)


def _with_sources(session: TableSession, relation: Relation, step: WatermarkStep | None) -> Relation:
    """Sources read what is needed; in streams those of one table read it once."""
    pushed = push_down(relation)
    # In batches each part that Spark computes reads for itself.
    is_shared = session.is_streaming and reuse_of(session.settings) == Reuse()
    if not is_shared:
        return as_node(pushed).with_watermarks(step)
    return with_shared_watermarks(as_node(with_shared_scans(relation, pushed)).with_watermarks(step))


def plan_choice(session: TableSession) -> PlanChoice:
    """The choice between Spark and slots in batch mode, by the settings of a session."""
    settings = session.settings
    files = (options.PYTHON_FILES, options.PYTHON_ARCHIVES, options.PYTHON_REQUIREMENTS)
    has_files = any(settings.get(option.key, "") for option in files)
    return PlanChoice(settings.get(options.BATCH_PLAN.key, str(options.BATCH_PLAN.default)), has_files)


def _started(session: TableSession, relation: Relation, now_ms: int) -> Relation:
    """In batch mode the rows of a query see the time of its start; those of a stream see their own."""
    return relation if session.is_streaming else with_start(relation, now_ms)


def planned_inserts(session: TableSession, plans: Sequence[InsertPlan]) -> list[InsertPlan]:
    """Rows for the tables of one statement, with the changes that their sinks take."""
    now_ms = SystemClock().now_ms()
    return [_planned_insert(session, plan, now_ms) for plan in plans]


def _planned_insert(session: TableSession, plan: InsertPlan, now_ms: int) -> InsertPlan:
    target = Target(plan.name, plan.primary_key, plan.sink.accepted_kinds, plan.on_conflict)
    # A sink looks at event time when a checkpoint begins, and so between batches.
    step = FOR_LATE_ROWS if plan.sink.needs_watermarks else None
    planned = _planned_for(session, _started(session, plan.relation, now_ms), target, step, plan.not_null)
    if not session.is_streaming and step is None:
        planned = plan_choice(session).applied(planned, plan.sink.takes_frames)
    shuffle = choice_of(session.settings, "table.exec.sink.keyed-shuffle", ("AUTO", "NONE", "FORCE"))
    return replace(plan, relation=planned, keyed_shuffle=shuffle)


def planned_stream(session: TableSession, relation: Relation, target: Target) -> Relation:
    """Rows for a stream, which may have a primary key as a table has one, with watermarks."""
    return _planned_for(session, _started(session, relation, SystemClock().now_ms()), target, EVERY_WATERMARK)


def _planned_for(
    session: TableSession,
    relation: Relation,
    target: Target,
    step: WatermarkStep | None,
    not_null: tuple[int, ...] = (),
) -> Relation:
    source = in_execution_mode(relation, session.settings, session.is_streaming)
    # A consumer of all kinds gets updates with UPDATE_BEFORE, also from a source without it.
    kinds = as_node(source).changelog()
    accepted = target.accepts(kinds | {RowKind.UPDATE_BEFORE} if RowKind.UPDATE_AFTER in kinds else kinds)
    consumer = f"Table sink '{target.name}'"
    require_kinds(source, accepted, consumer)
    conflict = conflict_of(session, source, target)
    if conflict.needs_before:
        accepted |= {RowKind.UPDATE_BEFORE}
    strategy = target.on_conflict or "deduplicate"
    if conflict.is_materialized and strategy != "deduplicate":
        step = EVERY_WATERMARK
    planned = _with_not_nulls(session, _planned(session, relation, accepted, consumer, step), not_null)
    if not conflict.is_materialized:
        return planned
    ttl_ms = change_settings(session, relation).ttl_ms
    key, upsert_key = target.primary_key, conflict.upsert_key
    return SinkMaterialize(planned.columns, planned, key, upsert_key, ttl_ms, strategy)  # type: ignore[arg-type]


def _with_not_nulls(session: TableSession, relation: Relation, indexes: tuple[int, ...]) -> Relation:
    if not indexes:
        return relation
    enforcer = session.settings.get("table.exec.sink.not-null-enforcer", "ERROR").upper()
    return ConstraintEnforcer(relation.columns, relation, indexes, enforcer == "DROP")  # type: ignore[arg-type]
