"""What the options `table.exec.emit.…` say of group windows: whether they tell results before and after their ends."""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

from funke.engine.config.option_values import parse_boolean, parse_duration
from funke.engine.flink_exceptions import TableException
from funke.engine.sql.binding.relations import Relation, with_inputs
from funke.engine.sql.binding.window_relations import Firing, WindowAggregation

__all__ = ["with_firing"]


class Settings(Protocol):
    """What was set."""

    def get(self, key: str, default: str) -> str:
        """The value of a key."""
        ...


def with_firing(relation: Relation, settings: Settings) -> Relation:
    """The relation whose group windows do as they are told; those of table functions cannot, as in Flink."""
    changed = with_inputs(relation, lambda each: with_firing(each, settings))
    if not isinstance(changed, WindowAggregation):
        return changed
    early_ms, late_ms = _delay_ms("early", settings), _delay_ms("late", settings)
    if early_ms is late_ms is None:
        return changed
    if changed.windows is None or changed.windows.is_table_function:
        raise TableException(
            "Currently, window table function based aggregate doesn't support early-fire and late-fire configuration "
            "'table.exec.emit.early-fire.enabled' and 'table.exec.emit.late-fire.enabled'."
        )
    is_session = changed.windows.kind == "session"
    lateness_ms = 0 if is_session or late_ms is None else _lateness_ms(settings)
    _refuse(changed, early_ms, late_ms, lateness_ms)
    if not changed.time.is_event_time:
        # No row is late.
        late_ms, lateness_ms = None, 0
    return changed if early_ms is late_ms is None else replace(changed, firing=Firing(early_ms, late_ms, lateness_ms))


def _delay_ms(word: str, settings: Settings) -> int | None:
    """Every how many milliseconds; -1 if nobody has said it, None if there are no such results."""
    if not parse_boolean(settings.get(f"table.exec.emit.{word}-fire.enabled", "false")):
        return None
    delay = settings.get(f"table.exec.emit.{word}-fire.delay", "")
    return parse_duration(delay).to_millis() if delay else -1


def _lateness_ms(settings: Settings) -> int:
    given = settings.get("table.exec.emit.allow-lateness", "") or settings.get("table.exec.state.ttl", "0 ms")
    return parse_duration(given).to_millis()


def _refuse(aggregation: WindowAggregation, early_ms: int | None, late_ms: int | None, lateness_ms: int) -> None:
    """Refuses what makes no sense, with Flink's words."""
    assert aggregation.windows is not None
    if aggregation.windows.kind == "session" and not (early_ms is late_ms is None):
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
