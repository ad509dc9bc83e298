"""Restart strategies: whether and when a job that failed is tried again."""

from __future__ import annotations

import random
import time
from collections import deque
from dataclasses import dataclass, field
from typing import Protocol

from funke.engine.config import flink_options as options
from funke.engine.config.settings import Settings
from funke.engine.errors import ConfigurationError

__all__ = ["RestartStrategy", "restart_strategy"]

_UNLIMITED = 2**31 - 1


class RestartStrategy(Protocol):
    """Receives every failure; returns the pause before the next attempt, or None to give up."""

    def next_delay_ms(self) -> int | None:
        """The pause before the next attempt."""
        ...


class NoRestart:
    """The first failure ends the job."""

    def next_delay_ms(self) -> int | None:
        """Give up."""
        return None


@dataclass
class FixedDelay:
    """A number of attempts with the same pause before each."""

    attempts: int
    delay_ms: int
    _restart_count: int = 0

    def next_delay_ms(self) -> int | None:
        """The pause, until the attempts are used up."""
        self._restart_count += 1
        return self.delay_ms if self._restart_count <= self.attempts else None


@dataclass
class FailureRate:
    """Gives up when more than `max_failures` happen within `interval_ms`."""

    max_failures: int
    interval_ms: int
    delay_ms: int
    _failures: deque[float] = field(default_factory=deque)

    def next_delay_ms(self) -> int | None:
        """The pause, unless failures come too fast."""
        now = time.monotonic() * 1000
        self._failures.append(now)
        while self._failures and self._failures[0] <= now - self.interval_ms:
            self._failures.popleft()
        return self.delay_ms if len(self._failures) <= self.max_failures else None


@dataclass
class ExponentialDelay:
    """Longer and longer pauses, short again after a quiet time."""

    initial_ms: int
    max_ms: int
    multiplier: float
    reset_ms: int
    jitter: float
    attempts: int
    _current_ms: float = 0.0
    _restart_count: int = 0
    _last: float | None = None

    def next_delay_ms(self) -> int | None:
        """The pause, growing with every failure."""
        now = time.monotonic() * 1000
        is_quiet = self._last is not None and now - self._last >= self.reset_ms + self._current_ms
        if self._last is None or is_quiet:
            self._current_ms, self._restart_count = float(self.initial_ms), 0
        else:
            self._current_ms = min(float(self.max_ms), self._current_ms * self.multiplier)
        self._last = now
        self._restart_count += 1
        if self._restart_count > self.attempts:
            return None
        return int(self._current_ms * (1 + random.uniform(-self.jitter, self.jitter)))


def restart_strategy(settings: Settings, is_checkpointing: bool) -> RestartStrategy:
    """The strategy that is configured; without one, none at all or, with checkpoints, again and again."""
    settings.get(options.FAILOVER_STRATEGY)  # rejects what Flink does not know
    name = settings.get(options.RESTART_STRATEGY)
    kind = (name or "").lower().replace("-", "").replace("_", "")
    if not kind:
        return FixedDelay(_UNLIMITED, 1000) if is_checkpointing else NoRestart()
    if kind in ("none", "off", "disable", "norestart"):
        return NoRestart()
    if kind == "fixeddelay":
        return FixedDelay(settings.get(options.FIXED_DELAY_ATTEMPTS), settings.get(options.FIXED_DELAY).to_millis())
    if kind == "failurerate":
        return FailureRate(
            settings.get(options.FAILURE_RATE_MAX_FAILURES),
            settings.get(options.FAILURE_RATE_INTERVAL).to_millis(),
            settings.get(options.FAILURE_RATE_DELAY).to_millis(),
        )
    if kind == "exponentialdelay":
        attempts = settings.get(options.EXPONENTIAL_ATTEMPTS)
        return ExponentialDelay(
            settings.get(options.EXPONENTIAL_INITIAL_BACKOFF).to_millis(),
            settings.get(options.EXPONENTIAL_MAX_BACKOFF).to_millis(),
            settings.get(options.EXPONENTIAL_MULTIPLIER),
            settings.get(options.EXPONENTIAL_RESET_THRESHOLD).to_millis(),
            settings.get(options.EXPONENTIAL_JITTER),
            _UNLIMITED if attempts is None else attempts,
        )
    raise ConfigurationError(
        f"unknown restart strategy '{name}'; expected none, fixed-delay, failure-rate or exponential-delay"
    )
