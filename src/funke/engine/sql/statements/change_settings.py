"""The options of a session that decide how changes are computed: time to live, mini-batches, two phases."""

from __future__ import annotations

from typing import TYPE_CHECKING

from funke.engine.config.option_values import parse_boolean, parse_duration, parse_integer
from funke.engine.errors import ConfigurationError
from funke.engine.sql.binding.relations import Aggregation, Relation, inputs_of
from funke.engine.sql.plan.changelogs.changes import ChangeSettings, MiniBatch
from funke.engine.sql.statements.plans.conflicts import choice_of

if TYPE_CHECKING:
    from funke.engine.sql.statements.table_session import SessionSettings, TableSession

__all__ = ["change_settings"]


def change_settings(session: TableSession, relation: Relation) -> ChangeSettings:
    """The options of a session as far as they decide about the changes of a query."""
    settings = session.settings
    ttl_ms = parse_duration(settings.get("table.exec.state.ttl", "0 ms")).to_millis()
    strategy = choice_of(settings, "table.optimizer.agg-phase-strategy", ("AUTO", "ONE_PHASE", "TWO_PHASE"))
    if not session.is_streaming:
        # A batch has final results alone: changes are folded as far as possible, and no state expires.
        return ChangeSettings(True, keeps_all=True)
    mini_batch = _mini_batch(settings, relation)
    is_folded = mini_batch is not None
    cleanup = parse_duration(settings.get("table.exec.interval-join.min-cleanup-interval", "0 ms"))
    # As in Flink a local phase needs a mini-batch, whose rows it aggregates.
    is_two_phase = is_folded and strategy != "ONE_PHASE"
    cleanup_ms = max(cleanup.to_millis(), 0)
    return ChangeSettings(is_folded, ttl_ms, mini_batch, is_two_phase, interval_cleanup_ms=cleanup_ms)


def _mini_batch(settings: SessionSettings, relation: Relation) -> MiniBatch | None:
    """The mini-batch settings, if it is on; a size is required only where an operator gathers rows."""
    if not parse_boolean(settings.get("table.exec.mini-batch.enabled", "false")):
        return None
    latency_ms = parse_duration(settings.get("table.exec.mini-batch.allow-latency", "0 ms")).to_millis()
    if latency_ms <= 0:
        raise ConfigurationError("MiniBatch Latency must be greater than 0 ms.")
    size = parse_integer(settings.get("table.exec.mini-batch.size", "-1"))
    if size <= 0 and _has_aggregations(relation):
        raise ConfigurationError("Key: 'table.exec.mini-batch.size' , default: -1 (fallback keys: []) must be > 0.")
    return MiniBatch(size, latency_ms)


def _has_aggregations(relation: Relation) -> bool:
    return isinstance(relation, Aggregation) or any(map(_has_aggregations, inputs_of(relation)))
