"""Relations as jobs run them: nobody sends what nobody needs, and batches give their results once."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from funke.engine.config.option_values import parse_boolean, parse_duration
from funke.engine.errors import UnsupportedFeatureError
from funke.engine.flink_exceptions import TableException
from funke.engine.sql.binding.final_rows import FinalRows
from funke.engine.sql.binding.merged_calculations import merged
from funke.engine.sql.binding.not_nulls import NotNulls
from funke.engine.sql.binding.relations import Aggregation, Relation, Sort, inputs_of, with_inputs
from funke.engine.sql.binding.time_attributes import TimeAttribute
from funke.engine.sql.binding.watermark_assigner import WatermarkStep
from funke.engine.sql.binding.window_relations import WindowAggregation
from funke.engine.sql.changelog.change_kinds import ALL_KINDS, Kinds, kinds_of
from funke.engine.sql.changelog.requirements import ChangeSettings, for_consumer, require_kinds
from funke.engine.sql.connectors.push_down import push_down
from funke.engine.sql.rules.unused_columns import without_unused
from funke.engine.sql.rules.watermark_steps import with_watermark_steps

if TYPE_CHECKING:
    from funke.engine.sql.statements.outcome import InsertPlan
    from funke.engine.sql.statements.table_session import TableSession

__all__ = ["planned_insert", "planned_rows"]


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
        _refuse_early_results(session, relation)
    else:
        relation = _with_final_rows(relation)
    require_kinds(relation, accepted, consumer)
    changes = for_consumer(without_unused(relation), accepted, _change_settings(session))
    return with_watermark_steps(push_down(merged(changes)), step)


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


_EARLY = ("table.exec.emit.early-fire.enabled", "table.exec.emit.late-fire.enabled")


def _refuse_early_results(session: TableSession, relation: Relation) -> None:
    """Windows in GROUP BY say their results once; options that ask for more must not be overlooked."""
    asked = next((each for each in _EARLY if parse_boolean(session.settings.get(each, "false"))), None)
    if asked is not None and _has_group_window(relation):
        raise UnsupportedFeatureError(f"the option '{asked}'", "a window gives its result once, when it closes")


def _has_group_window(relation: Relation) -> bool:
    own = isinstance(relation, WindowAggregation) and relation.windows is not None
    if own and not relation.windows.is_table_function:  # type: ignore[attr-defined]
        return True
    return any(map(_has_group_window, inputs_of(relation)))


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
