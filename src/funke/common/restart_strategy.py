"""What happens when a job fails."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from datetime import timedelta

from funke.engine.config import flink_options as options
from funke.engine.config.settings import Settings
from funke.engine.errors import ConfigurationError
from funke.engine.types.time import Duration

__all__ = ["RestartStrategies", "RestartStrategyConfiguration"]


def _to_duration(name: str, value: int | timedelta | None) -> Duration:
    if isinstance(value, timedelta):
        return Duration.of_millis(value // timedelta(milliseconds=1))
    if isinstance(value, int):
        return Duration.of_millis(value)
    raise TypeError(f"{name} must be milliseconds or a datetime.timedelta, got {type(value).__name__}")


def _to_timedelta(duration: Duration) -> timedelta:
    return timedelta(milliseconds=duration.to_millis())


class RestartStrategyConfiguration(ABC):
    """One way to deal with failures.

    >>> from funke.common import RestartStrategies, RestartStrategyConfiguration
    >>> strategy: RestartStrategyConfiguration = RestartStrategies.no_restart()
    >>> strategy.get_description()
    'Restart deactivated.'
    """

    @abstractmethod
    def get_description(self) -> str:
        """Return one sentence about the strategy."""

    @abstractmethod
    def write_to(self, settings: Settings) -> None:
        """Store the strategy under Flink's configuration keys."""


class RestartStrategies:
    """Creates restart strategies.

    >>> from datetime import timedelta
    >>> from funke.common import RestartStrategies
    >>> from funke.datastream import StreamExecutionEnvironment
    >>> env = StreamExecutionEnvironment.get_execution_environment()
    >>> env.set_restart_strategy(RestartStrategies.fixed_delay_restart(3, timedelta(seconds=10)))
    >>> env.get_restart_strategy().get_description()
    'Restart with fixed delay (10000 ms). #3 restart attempts.'
    """

    @dataclass(frozen=True)
    class NoRestartStrategyConfiguration(RestartStrategyConfiguration):
        """The first failure ends the job."""

        def get_description(self) -> str:
            """Return one sentence about the strategy."""
            return "Restart deactivated."

        def write_to(self, settings: Settings) -> None:
            """Store the strategy under Flink's configuration keys."""
            settings.set(options.RESTART_STRATEGY, "none")

    @dataclass(frozen=True, init=False)
    class FixedDelayRestartStrategyConfiguration(RestartStrategyConfiguration):
        """A number of restarts with the same pause before each."""

        _attempts: int
        _delay: Duration

        def __init__(
            self,
            restart_attempts: int | None = None,
            delay_between_attempts_interval: int | timedelta | None = None,
        ) -> None:
            delay = _to_duration("delay_between_attempts_interval", delay_between_attempts_interval)
            object.__setattr__(self, "_attempts", 0 if restart_attempts is None else restart_attempts)
            object.__setattr__(self, "_delay", delay)

        def get_restart_attempts(self) -> int:
            """Return how often the job is restarted."""
            return self._attempts

        def get_delay_between_attempts_interval(self) -> timedelta:
            """Return the pause before a restart."""
            return _to_timedelta(self._delay)

        def get_description(self) -> str:
            """Return one sentence about the strategy."""
            return f"Restart with fixed delay ({self._delay.to_millis()} ms). #{self._attempts} restart attempts."

        def write_to(self, settings: Settings) -> None:
            """Store the strategy under Flink's configuration keys."""
            settings.set(options.RESTART_STRATEGY, "fixed-delay")
            settings.set(options.FIXED_DELAY_ATTEMPTS, self._attempts)
            settings.set(options.FIXED_DELAY, self._delay)

    @dataclass(frozen=True, init=False)
    class FailureRateRestartStrategyConfiguration(RestartStrategyConfiguration):
        """Restarts as long as there are not too many failures in an interval."""

        _max_failure_rate: int
        _interval: Duration
        _delay: Duration

        def __init__(
            self,
            max_failure_rate: int | None = None,
            failure_interval: int | timedelta | None = None,
            delay_between_attempts_interval: int | timedelta | None = None,
        ) -> None:
            interval = _to_duration("failure_interval", failure_interval)
            delay = _to_duration("delay_between_attempts_interval", delay_between_attempts_interval)
            object.__setattr__(self, "_max_failure_rate", 0 if max_failure_rate is None else max_failure_rate)
            object.__setattr__(self, "_interval", interval)
            object.__setattr__(self, "_delay", delay)

        def get_max_failure_rate(self) -> int:
            """Return how many failures the interval may have."""
            return self._max_failure_rate

        def get_failure_interval(self) -> timedelta:
            """Return the interval in which failures are counted."""
            return _to_timedelta(self._interval)

        def get_delay_between_attempts_interval(self) -> timedelta:
            """Return the pause before a restart."""
            return _to_timedelta(self._delay)

        def get_description(self) -> str:
            """Return one sentence about the strategy."""
            return (
                f"Failure rate restart with maximum of {self._max_failure_rate} failures within interval "
                f"{self._interval.to_millis()} ms and fixed delay {self._delay.to_millis()} ms."
            )

        def write_to(self, settings: Settings) -> None:
            """Store the strategy under Flink's configuration keys."""
            settings.set(options.RESTART_STRATEGY, "failure-rate")
            settings.set(options.FAILURE_RATE_MAX_FAILURES, self._max_failure_rate)
            settings.set(options.FAILURE_RATE_INTERVAL, self._interval)
            settings.set(options.FAILURE_RATE_DELAY, self._delay)

    @dataclass(frozen=True)
    class FallbackRestartStrategyConfiguration(RestartStrategyConfiguration):
        """Whatever the configuration of the cluster says."""

        def get_description(self) -> str:
            """Return one sentence about the strategy."""
            return "Cluster level default restart strategy"

        def write_to(self, settings: Settings) -> None:
            """Remove a strategy of the job's own."""
            settings.unset(options.RESTART_STRATEGY)

    @staticmethod
    def no_restart() -> NoRestartStrategyConfiguration:
        """The first failure ends the job."""
        return RestartStrategies.NoRestartStrategyConfiguration()

    @staticmethod
    def fall_back_restart() -> FallbackRestartStrategyConfiguration:
        """The configuration of the cluster decides."""
        return RestartStrategies.FallbackRestartStrategyConfiguration()

    @staticmethod
    def fixed_delay_restart(
        restart_attempts: int, delay_between_attempts: int | timedelta
    ) -> FixedDelayRestartStrategyConfiguration:
        """Restart so many times, with a pause (milliseconds or timedelta) before each restart."""
        return RestartStrategies.FixedDelayRestartStrategyConfiguration(restart_attempts, delay_between_attempts)

    @staticmethod
    def failure_rate_restart(
        failure_rate: int, failure_interval: int | timedelta, delay_interval: int | timedelta
    ) -> FailureRateRestartStrategyConfiguration:
        """Restart unless there are more than ``failure_rate`` failures within ``failure_interval``."""
        return RestartStrategies.FailureRateRestartStrategyConfiguration(failure_rate, failure_interval, delay_interval)


def read_restart_strategy(settings: Settings) -> RestartStrategyConfiguration:
    """Return the strategy that a configuration describes."""
    kind = (settings.get(options.RESTART_STRATEGY) or "").lower().replace("_", "-")
    if kind == "":
        return RestartStrategies.fall_back_restart()
    if kind in ("none", "off", "disable", "disabled"):
        return RestartStrategies.no_restart()
    if kind in ("fixed-delay", "fixeddelay"):
        delay = _to_timedelta(settings.get(options.FIXED_DELAY))
        return RestartStrategies.fixed_delay_restart(settings.get(options.FIXED_DELAY_ATTEMPTS), delay)
    if kind in ("failure-rate", "failurerate"):
        return RestartStrategies.failure_rate_restart(
            settings.get(options.FAILURE_RATE_MAX_FAILURES),
            _to_timedelta(settings.get(options.FAILURE_RATE_INTERVAL)),
            _to_timedelta(settings.get(options.FAILURE_RATE_DELAY)),
        )
    raise ConfigurationError(f"option 'restart-strategy.type': unknown restart strategy {kind!r}")
