"""Whether and when a failed job is tried again, by configuration and by the classes of Flink 1.x."""

from __future__ import annotations

from typing import Any

import pytest

from funke.common import ExecutionConfig, RestartStrategies
from funke.engine.config import Settings
from funke.engine.errors import ConfigurationError
from funke.engine.jobs.attempts import restart
from funke.engine.jobs.attempts.restart import restart_strategy


def delays(settings: dict[str, str], failures: int, is_checkpointing: bool = False) -> list[int | None]:
    strategy = restart_strategy(Settings(settings), is_checkpointing)
    return [strategy.next_delay_ms() for _ in range(failures)]


def test_without_checkpoints_the_first_failure_is_the_last() -> None:
    assert delays({}, 1) == [None]


def test_with_checkpoints_and_nothing_configured_there_is_always_another_attempt_after_a_second() -> None:
    assert delays({}, 1000, is_checkpointing=True) == [1000] * 1000


@pytest.mark.parametrize("name", ["none", "off", "disable"])
def test_no_restart_also_with_checkpoints(name: str) -> None:
    assert delays({"restart-strategy.type": name}, 1, is_checkpointing=True) == [None]


@pytest.mark.parametrize("name", ["fixed-delay", "fixeddelay"])
def test_fixed_delay_gives_up_after_its_attempts(name: str) -> None:
    assert delays({"restart-strategy.type": name}, 2) == [1000, None]
    own = {"restart-strategy.fixed-delay.attempts": "3", "restart-strategy.fixed-delay.delay": "10 s"}
    assert delays({"restart-strategy.type": name, **own}, 4) == [10_000, 10_000, 10_000, None]


@pytest.mark.parametrize("name", ["failure-rate", "failurerate"])
def test_failure_rate_gives_up_when_failures_come_too_fast(name: str) -> None:
    assert delays({"restart-strategy.type": name}, 2) == [1000, None]
    own = {
        "restart-strategy.failure-rate.max-failures-per-interval": "3",
        "restart-strategy.failure-rate.failure-rate-interval": "5 min",
        "restart-strategy.failure-rate.delay": "10 s",
    }
    assert delays({"restart-strategy.type": name, **own}, 4) == [10_000, 10_000, 10_000, None]


def test_old_failures_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    strategy = restart_strategy(Settings({"restart-strategy.type": "failure-rate"}), False)
    timestamps = iter([0.0, 61.0, 122.0, 123.0])
    monkeypatch.setattr("funke.engine.jobs.attempts.restart.time.monotonic", lambda: next(timestamps))
    assert [strategy.next_delay_ms() for _ in range(4)] == [1000, 1000, 1000, None]


@pytest.mark.parametrize(
    ("strategy", "expected"),
    [
        (RestartStrategies.no_restart(), [None]),
        (RestartStrategies.fixed_delay_restart(3, 10_000), [10_000, 10_000, 10_000, None]),
        (RestartStrategies.failure_rate_restart(3, 5 * 60_000, 10_000), [10_000, 10_000, 10_000, None]),
    ],
)
def test_strategies_set_by_a_program(strategy: Any, expected: list[int]) -> None:
    settings = Settings({"restart-strategy.type": "exponential-delay"})
    ExecutionConfig(settings).set_restart_strategy(strategy)
    # What the program sets wins over what it was configured with.
    assert delays(settings.to_text_dict(), len(expected), is_checkpointing=True) == expected


def test_pauses_grow_until_a_quiet_time_or_the_last_attempt(monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = 0.0
    monkeypatch.setattr(restart.time, "monotonic", lambda: now_s)
    prefix = "restart-strategy.exponential-delay."
    configured = {"restart-strategy.type": "exponential-delay", f"{prefix}jitter-factor": "0"}
    assert delays({**configured, f"{prefix}max-backoff": "3 s"}, 5) == [1000, 1500, 2250, 3000, 3000]
    assert delays({**configured, f"{prefix}attempts-before-reset-backoff": "2"}, 3) == [1000, 1500, None]
    strategy = restart_strategy(Settings({**configured, f"{prefix}backoff-multiplier": "2"}), False)
    assert [strategy.next_delay_ms(), strategy.next_delay_ms()] == [1000, 2000]
    now_s = 3601.0
    assert strategy.next_delay_ms() == 4000, "an hour is counted from the end of the pause"
    now_s += 3604.0
    assert strategy.next_delay_ms() == 1000
    spread = {delays({"restart-strategy.type": "exponential-delay"}, 1)[0] or 0 for _ in range(100)}
    assert len(spread) > 10 and 900 <= min(spread) <= max(spread) <= 1100, "a tenth more or less"


def test_what_a_failure_restarts_is_another_question_than_when() -> None:
    for failover in ("full", "region"):
        configured = {"restart-strategy.type": "none", "jobmanager.execution.failover-strategy": failover}
        assert delays(configured, 1, is_checkpointing=True) == [None]
    with pytest.raises(ConfigurationError, match="'task' is not one of region, full"):
        restart_strategy(Settings({"jobmanager.execution.failover-strategy": "task"}), False)


def test_an_unknown_strategy_is_rejected() -> None:
    with pytest.raises(ConfigurationError, match="unknown restart strategy 'hope'"):
        restart_strategy(Settings({"restart-strategy.type": "hope"}), False)
