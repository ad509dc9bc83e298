"""Asynchronous scalar functions are repeated after errors and end in time, by Flink's options."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from funke.engine.config.settings import Settings
from funke.engine.errors import ConfigurationError
from funke.engine.jobs.submission.ignored_settings import warn_of_ignored
from funke.engine.sql.functions.users.async_calls import AsyncCalls

QUICK = {"retry-delay": "1 ms"}


def calls(**options: str) -> AsyncCalls:
    strings = {f"table.exec.async-scalar.{key.replace('_', '-')}": value for key, value in {**QUICK, **options}.items()}
    return AsyncCalls.of(strings)


class Failing:
    """Fails so many times for each value."""

    def __init__(self, failures: int) -> None:
        self.failures = failures
        self.attempts: dict[Any, int] = {}

    async def __call__(self, value: Any) -> str:
        self.attempts[value] = self.attempts.get(value, 0) + 1
        if self.attempts[value] <= self.failures:
            raise ValueError(f"attempt {self.attempts[value]}")
        return f"{value}{self.attempts[value]}"


# What PyFlink 2.3 gives.
@pytest.mark.parametrize("failures", [0, 1, 2, 3])
def test_an_error_is_repeated_three_times(failures: int) -> None:
    assert calls().results(Failing(failures), [("a",), ("b",)]) == [f"a{failures + 1}", f"b{failures + 1}"]


def test_the_last_error_is_reported() -> None:
    with pytest.raises(ValueError, match="attempt 4"):
        calls().results(Failing(4), [("a",)])


def test_options_of_repeats() -> None:
    assert calls(max_attempts="5").results(Failing(5), [("a",)]) == ["a6"]
    with pytest.raises(ValueError, match="attempt 2"):
        calls(max_attempts="1").results(Failing(2), [("a",)])
    with pytest.raises(ValueError, match="attempt 1"):
        calls(retry_strategy="no_retry").results(Failing(1), [("a",)])
    with pytest.raises(ConfigurationError, match=r"'WILD'.*FIXED_DELAY, NO_RETRY"):
        calls(retry_strategy="wild")


def test_defaults_are_flinks() -> None:
    assert AsyncCalls.of({}) == AsyncCalls(10, 180_000, True, 3, 100)


def test_all_attempts_end_in_time() -> None:
    async def never(value: str) -> str:
        await asyncio.Event().wait()
        return value

    with pytest.raises(TimeoutError, match=r"Async function call has timed out for input: \['a'\]"):
        calls(timeout="20 ms").results(never, [("a",)])


@pytest.mark.parametrize("option", ["max_concurrent_operations", "buffer_capacity"])
def test_no_more_calls_are_under_way_than_allowed(option: str) -> None:
    under_way = most = 0

    async def counted(value: int) -> int:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await asyncio.sleep(0)
        under_way -= 1
        return value

    assert calls(**{option: "3"}).results(counted, [(each,) for each in range(9)]) == list(range(9))
    assert most == 3


def test_the_options_are_read(capsys: pytest.CaptureFixture[str]) -> None:
    warn_of_ignored(Settings({"table.exec.async-scalar.max-attempts": "7"}))

    assert capsys.readouterr().err == ""
