"""GroupWindowAggregate: a group window that emits results before its end (early) and behind it (late)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar, Protocol

from funke.engine.config.option_values import parse_boolean, parse_duration
from funke.engine.flink_exceptions import TableException
from funke.engine.graph.state_meaning import StateMeaning
from funke.engine.sql.binding.windows.window_relations import WindowAggregation
from funke.engine.sql.plan import EVERY_WATERMARK, ChangeSettings, Kinds, PlanNode, WatermarkStep, finer, updates
from funke.engine.sql.plan.aggregates.window_aggregate import WindowAggregate
from funke.engine.sql.window_kinds import SessionWindows
from funke.engine.types.row import RowKind

if TYPE_CHECKING:
    from funke.engine.operators.operator import Operator, TaskInfo
    from funke.engine.sql.meaning import ColumnStrings

__all__ = ["Firing", "GroupWindowAggregate", "Settings", "firing_of"]


class Settings(Protocol):
    """Options of a session."""

    def get(self, key: str, default: str, /) -> str:
        """The value of a key."""
        ...


@dataclass(frozen=True)
class Firing:
    """The delays of results before the end of windows, and behind it; 0 is with every row, None not at all."""

    early_ms: int | None = None
    late_ms: int | None = None
    # How long after its end a window takes in rows.
    lateness_ms: int = 0


@dataclass(frozen=True)
class GroupWindowAggregate(WindowAggregate):
    """Keeps the accumulators of each key and window, and the results that were emitted last."""

    operator_name: ClassVar[str] = "GroupWindowAggregate"
    state_name: ClassVar[str] = "GroupWindowAggregate"

    firing: Firing = field(kw_only=True)
    # Whether the consumer needs a result as it was before a change (UPDATE_BEFORE).
    sends_before: bool = True

    def changelog(self) -> Kinds:
        more = (RowKind.DELETE,) if self.input.has_retractions else ()
        return updates(self.sends_before, *more)

    def with_changes(self, sends_before: bool, settings: ChangeSettings) -> PlanNode:
        return replace(self, sends_before=sends_before)

    def watermark_step(self, consumer_step: WatermarkStep | None) -> WatermarkStep | None:
        # Results at the ends of windows stand between the changes of single rows.
        return finer(consumer_step, EVERY_WATERMARK if self.time.is_event_time else None)

    def emit_text(self) -> str:
        delays = (("early", self.firing.early_ms), ("late", self.firing.late_ms))
        parts = (
            f"{name} delay {delay} millisecond" if delay else f"{name} no delay"
            for name, delay in delays
            if delay is not None
        )
        return f", emit=[{', '.join(parts)}]"

    def phases(self) -> tuple[PlanNode, ...]:
        return (self,)

    def state_meaning(self, strings: ColumnStrings) -> StateMeaning | None:
        from funke.engine.sql.meaning import ACCUMULATORS, input_facts, key_fact, window_fact

        source, firing = self.input, self.firing
        # Results stand in the state as they were emitted, so that none of the calls may move.
        calls = ", ".join(strings.call(source, each) for each in self.aggregates)
        delays = f"early {firing.early_ms} ms, late {firing.late_ms} ms, lateness {firing.lateness_ms} ms"
        windows = window_fact(strings, source, self.windows, self.time, None)
        keys = key_fact(strings, source, self.keys)
        facts = (keys, windows, ("results told", delays), (f"{ACCUMULATORS}s", calls), *input_facts(strings, source))
        return StateMeaning("GroupWindowAggregate", facts)

    def create(self, task: TaskInfo) -> Operator:
        from funke.engine.sql.operators.windows.firing_windows import FiringWindowOperator

        return FiringWindowOperator(self)


def firing_of(aggregation: WindowAggregation, settings: Settings) -> Firing | None:
    """The firing of a window by the options `table.exec.emit.…`; None if it emits one result, at its end.

    Only group windows fire; with window table functions the options are rejected, as in Flink.
    """
    early_ms, late_ms = _delay_ms("early", settings), _delay_ms("late", settings)
    if early_ms is late_ms is None:
        return None
    if aggregation.windows is None or aggregation.windows.is_table_function:
        raise TableException(
            "Currently, window table function based aggregate doesn't support early-fire and late-fire configuration "
            "'table.exec.emit.early-fire.enabled' and 'table.exec.emit.late-fire.enabled'."
        )
    is_session = isinstance(aggregation.windows, SessionWindows)
    lateness_ms = 0 if is_session or late_ms is None else _lateness_ms(settings)
    _reject(aggregation, early_ms, late_ms, lateness_ms)
    if not aggregation.time.is_event_time:
        # No row is late.
        late_ms, lateness_ms = None, 0
    return None if early_ms is late_ms is None else Firing(early_ms, late_ms, lateness_ms)


def _delay_ms(word: str, settings: Settings) -> int | None:
    """The delay in milliseconds; -1 if none is set, None if there are no such results."""
    if not parse_boolean(settings.get(f"table.exec.emit.{word}-fire.enabled", "false")):
        return None
    delay = settings.get(f"table.exec.emit.{word}-fire.delay", "")
    return parse_duration(delay).to_millis() if delay else -1


def _lateness_ms(settings: Settings) -> int:
    # As in Flink the time to live of state stands in for a lateness that is not set.
    lateness = settings.get("table.exec.emit.allow-lateness", "") or settings.get("table.exec.state.ttl", "0 ms")
    return parse_duration(lateness).to_millis()


def _reject(aggregation: WindowAggregation, early_ms: int | None, late_ms: int | None, lateness_ms: int) -> None:
    """Rejects what makes no sense, with Flink's words."""
    if isinstance(aggregation.windows, SessionWindows) and not (early_ms is late_ms is None):
        raise TableException("Session window doesn't support EMIT strategy currently.")
    if aggregation.time.is_event_time and late_ms is not None and lateness_ms <= 0:
        raise TableException(
            "The 'AFTER WATERMARK' emit strategy requires set 'allow-lateness' or 'minIdleStateRetentionTime' in table "
            "config."
        )
    for word, delay in (("Early", early_ms), ("Late", late_ms)):
        if delay is not None and delay < 0:
            raise TableException(
                f"{word}-fire delay should not be null or negative value whenenable {word.lower()}-fire emit strategy."
            )
    if late_ms is not None and late_ms > lateness_ms:
        raise TableException(
            f"Allow-lateness [{lateness_ms}ms] should not be smaller than Late-fire delay [{late_ms}ms] when enable "
            "late-fire emit strategy."
        )
