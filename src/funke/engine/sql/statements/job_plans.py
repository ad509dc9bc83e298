"""Relations as jobs run them: nobody sends what nobody needs, and batches give their results once."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from funke.engine.config import flink_options as options
from funke.engine.config.option_values import parse_boolean, parse_duration
from funke.engine.flink_exceptions import TableException
from funke.engine.sql.binding.final_rows import FinalRows
from funke.engine.sql.binding.merged_calculations import merged
from funke.engine.sql.binding.not_nulls import NotNulls
from funke.engine.sql.binding.relations import Aggregation, Relation, Sort, inputs_of, with_inputs
from funke.engine.sql.binding.time_attributes import TimeAttribute
from funke.engine.sql.binding.watermark_assigner import WatermarkStep
from funke.engine.sql.changelog.change_kinds import ALL_KINDS, Kinds, kinds_of
from funke.engine.sql.changelog.requirements import ChangeSettings, for_consumer, require_kinds
from funke.engine.sql.connectors.push_down import push_down
from funke.engine.sql.rules.unused_columns import without_unused
from funke.engine.sql.rules.watermark_steps import with_watermark_steps
from funke.engine.sql.spark_plans.plan_choice import PlanChoice

if TYPE_CHECKING:
    from funke.engine.sql.statements.outcome import InsertPlan
    from funke.engine.sql.statements.table_session import TableSession

__all__ = ["plan_choice", "planned_insert", "planned_rows"]


def planned_rows(
    session: TableSession,
    relation: Relation,
    accepted: Kinds = ALL_KINDS,
    consumer: str = "collect",
    step: WatermarkStep | None = None,
) -> Relation:
    """A relation for somebody who takes changes of some kinds, and watermarks; refuses what cannot be had so."""
    if session.is_streaming:
        _refuse_sorts(relation)
    else:
        relation = _with_final_rows(relation)
    require_kinds(relation, accepted, consumer)
    changes = for_consumer(without_unused(relation), accepted, _change_settings(session))
    planned = with_watermark_steps(push_down(merged(changes)), step)
    # Event times and watermarks do not come out of Spark: whoever wants them gets rows from slots.
    return planned if session.is_streaming or step is not None else plan_choice(session).applied(planned)


def plan_choice(session: TableSession) -> PlanChoice:
    """What the settings say of who computes queries in batch mode."""
    settings = session.settings
    files = (options.PYTHON_FILES, options.PYTHON_ARCHIVES, options.PYTHON_REQUIREMENTS)
    has_files = any(settings.get(option.key, "") for option in files)
    return PlanChoice(settings.get(options.BATCH_PLAN.key, str(options.BATCH_PLAN.default)), has_files)


def planned_insert(session: TableSession, plan: InsertPlan) -> InsertPlan:
    """Rows for a table, with the changes that its sink takes."""
    rows = plan.relation if session.is_streaming else _with_final_rows(plan.relation)
    accepted = plan.sink.accepted_kinds(kinds_of(rows))
    planned = planned_rows(session, plan.relation, accepted, f"Table sink '{plan.name}'")
    return replace(plan, relation=_with_not_nulls(session, planned, plan.not_null))


def _with_not_nulls(session: TableSession, relation: Relation, indexes: tuple[int, ...]) -> Relation:
    if not indexes:
        return relation
    enforcer = session.settings.get("table.exec.sink.not-null-enforcer", "ERROR").upper()
    return NotNulls(relation.columns, relation, indexes, enforcer == "DROP")


def _change_settings(session: TableSession) -> ChangeSettings:
    settings = session.settings
    is_folded = not session.is_streaming or parse_boolean(settings.get("table.exec.mini-batch.enabled", "false"))
    return ChangeSettings(is_folded, parse_duration(settings.get("table.exec.state.ttl", "0 ms")).to_millis())


def _refuse_sorts(relation: Relation) -> None:
    """A stream has no end at which it could be sorted."""
    if isinstance(relation, Sort):
        raise TableException(
            "Sort on a time attribute is not supported yet."
            if relation.columns[relation.keys[0].index].time is TimeAttribute.ROWTIME
            else "Sort on a non-time-attribute field is not supported."
        )
    for each in inputs_of(relation):
        _refuse_sorts(each)


def _with_final_rows(relation: Any) -> Any:
    """In batches whoever reads an aggregation sees its results alone."""
    changed = with_inputs(relation, _with_final_rows)
    if not isinstance(changed, Aggregation):
        return changed
    return FinalRows(changed.columns, changed, None if changed.keys else _without_rows(changed))


def _without_rows(aggregation: Aggregation) -> tuple[Any, ...]:
    """The results of aggregates over no rows."""
    bodies = [each.call.body for each in aggregation.aggregates]
    return tuple(body.value(body.create()) for body in bodies)
