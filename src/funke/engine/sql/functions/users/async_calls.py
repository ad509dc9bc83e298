"""Calls of asynchronous scalar functions: their number at a time, retries, and the time limit of each."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from funke.engine.config.option_values import parse_duration, parse_integer
from funke.engine.errors import ConfigurationError
from funke.engine.operators.async_io.retries import with_retries
from funke.engine.operators.functions.async_functions import FixedDelayRetryStrategy

if TYPE_CHECKING:
    from funke.engine.types.logical.sql_value import SqlValue

__all__ = ["AsyncCalls"]

_PREFIX = "table.exec.async-scalar."
_STRATEGIES = ("FIXED_DELAY", "NO_RETRY")


class Settings(Protocol):
    """The settings of the job."""

    def get(self, key: str, default: str) -> str:
        """The value of a key."""
        ...


@dataclass(frozen=True)
class AsyncCalls:
    """The options `table.exec.async-scalar.…` with Flink's defaults; attempts are those after the first."""

    under_way: int = 10
    timeout_ms: int = 180_000
    is_repeated: bool = True
    attempts: int = 3
    delay_ms: int = 100

    @staticmethod
    def of(settings: Settings) -> AsyncCalls:
        """The options of an environment."""
        strategy = settings.get(f"{_PREFIX}retry-strategy", "FIXED_DELAY").upper()
        if strategy not in _STRATEGIES:
            raise ConfigurationError(
                f"unknown value {strategy!r} of '{_PREFIX}retry-strategy'; expected one of {', '.join(_STRATEGIES)}"
            )
        # Flink's older name of the option, which says the same.
        under_way = settings.get(f"{_PREFIX}buffer-capacity", "10")
        return AsyncCalls(
            parse_integer(settings.get(f"{_PREFIX}max-concurrent-operations", under_way)),
            parse_duration(settings.get(f"{_PREFIX}timeout", "3 min")).to_millis(),
            strategy == "FIXED_DELAY",
            parse_integer(settings.get(f"{_PREFIX}max-attempts", "3")),
            parse_duration(settings.get(f"{_PREFIX}retry-delay", "100 ms")).to_millis(),
        )

    def results(self, body: Callable[..., Awaitable[SqlValue]], rows: Iterable[tuple[SqlValue, ...]]) -> list[SqlValue]:
        """Calls a function for every row; the results are in the order of the rows."""
        # A loop for each batch: results keep the order of rows, and no call is in flight at a checkpoint.
        return asyncio.run(self._results(body, rows))

    async def _results(
        self, body: Callable[..., Awaitable[SqlValue]], rows: Iterable[tuple[SqlValue, ...]]
    ) -> list[SqlValue]:
        permits = asyncio.Semaphore(self.under_way)

        async def once(values: tuple[SqlValue, ...]) -> SqlValue:
            return await body(*values)

        # Errors of any kind are repeated.
        strategy = FixedDelayRetryStrategy[Any](self.attempts, max(1, self.delay_ms), None, lambda error: True)
        call = with_retries(once, strategy) if self.is_repeated else once

        async def within_time(values: tuple[SqlValue, ...]) -> SqlValue:
            async with permits:
                try:
                    return await asyncio.wait_for(call(values), self.timeout_ms / 1000)
                except TimeoutError:
                    raise TimeoutError(f"Async function call has timed out for input: {list(values)}") from None

        return await asyncio.gather(*map(within_time, rows))
