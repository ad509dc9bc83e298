"""Calls that fail, take too long or are repeated."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from funke.datastream.async_retry_predicates import (
    empty_result_predicate,
    exception_type_predicate,
    has_exception_predicate,
)
from funke.engine.operators.functions.async_functions import AsyncFunction, AsyncRetryStrategy
from tests.unit.operators.async_io.async_functions import async_harness, eventually, look, loop_threads


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Iterator[None]:
    yield
    assert loop_threads() == []


class Answering(AsyncFunction[Any, Any]):
    """Gives the answers of a script one after the other: raises exceptions, returns everything else."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.attempts: list[float] = []

    async def async_invoke(self, value: Any) -> Any:
        self.attempts.append(time.monotonic())
        answer = self.answers.pop(0)
        if isinstance(answer, BaseException):
            raise answer
        return answer


class Stuck(AsyncFunction[Any, Any]):
    """Never answers."""

    def __init__(self) -> None:
        self.timeouts: list[Any] = []
        self.ended: list[Any] = []

    async def async_invoke(self, value: Any) -> list[Any]:
        try:
            await asyncio.sleep(60)
        finally:
            self.ended.append(value)
        return [value]


class StuckWithDefault(Stuck):
    def timeout(self, value: Any) -> list[Any]:
        self.timeouts.append(value)
        return [f"no answer for {value}"]


def run(function: AsyncFunction[Any, Any], values: list[Any], **options: Any) -> list[Any]:
    harness = async_harness(function, **options)
    try:
        harness.process_batch(values, [value * 10 for value in values])
        harness.end_input()
        return harness.timed_outputs()
    finally:
        harness.close()


@pytest.mark.parametrize("ordered", [True, False])
def test_an_exception_of_the_function_fails_the_operator(ordered: bool) -> None:
    with pytest.raises(LookupError, match="no such user: 1"):
        run(Answering(LookupError("no such user: 1")), [1], ordered=ordered)


def test_a_slot_is_woken_when_a_call_has_failed() -> None:
    may_fail, woken = threading.Event(), threading.Event()

    class FailingOnCommand(AsyncFunction[int, int]):
        async def async_invoke(self, value: int) -> list[int]:
            while not may_fail.is_set():
                await asyncio.sleep(0.001)
            raise LookupError("not there")

    harness = async_harness(FailingOnCommand(), wake=woken.set)
    harness.process(1)
    may_fail.set()
    assert woken.wait(5)
    with pytest.raises(LookupError, match="not there"):
        look(harness)
    harness.close()


def test_an_exception_is_seen_in_the_next_epoch_even_without_input() -> None:
    class FailingLate(AsyncFunction[int, int]):
        async def async_invoke(self, value: int) -> list[int]:
            await asyncio.sleep(0.1)
            raise LookupError("found out late")

    harness = async_harness(FailingLate())
    harness.process(1)
    harness.end_epoch()
    eventually(lambda: harness.operator.next_wakeup_ms() == 0)
    with pytest.raises(LookupError, match="found out late"):
        harness.operator.on_processing_time(0)
    harness.close()


def test_results_that_came_before_the_failure_are_emitted() -> None:
    harness = async_harness(Answering([1], ValueError("second")))
    with pytest.raises(ValueError, match="second"):
        harness.process_batch([1, 2])
        harness.end_input()
    assert harness.outputs() == [1]
    harness.close()


@pytest.mark.parametrize("error", [SystemExit("out"), KeyboardInterrupt("out"), asyncio.CancelledError("out")])
def test_what_would_end_the_process_only_fails_the_operator(error: BaseException) -> None:
    with pytest.raises(RuntimeError, match=f"'Answering' ended with {type(error).__name__}") as caught:
        run(Answering(error), [1])
    assert caught.value.__cause__ is error


def test_a_loop_that_the_function_stops_is_noticed() -> None:
    class Stopping(AsyncFunction[int, int]):
        async def async_invoke(self, value: int) -> list[int]:
            asyncio.get_running_loop().stop()
            await asyncio.sleep(60)
            return [value]

    with pytest.raises(RuntimeError, match="the event loop of 'Stopping' was stopped"):
        run(Stopping(), [1])


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ([], []),
        ([1, 2], [(1, 10), (2, 10)]),
        ((3, 4), [(3, 10), (4, 10)]),
        ("ab", [("a", 10), ("b", 10)]),
        (iter([5]), [(5, 10)]),
        ([None], [(None, 10)]),
    ],
)
def test_every_item_of_an_iterable_is_a_result(answer: Any, expected: list[Any]) -> None:
    assert run(Answering(answer), [1]) == expected


@pytest.mark.parametrize(("answer", "named"), [(None, "cannot be none"), (5, "should be of list type")])
def test_an_answer_that_is_no_list_fails(answer: Any, named: str) -> None:
    with pytest.raises(RuntimeError, match=f"The result of AsyncFunction {named}, .*of class 'Answering'"):
        run(Answering(answer), [1])


class TestTimeout:
    def test_by_default_it_fails(self) -> None:
        function = Stuck()
        with pytest.raises(TimeoutError, match="Async function call has timed out for input: 1"):
            run(function, [1], timeout_ms=20)
        assert function.ended == [1]

    @pytest.mark.parametrize("ordered", [True, False])
    def test_its_result_replaces_the_answer(self, ordered: bool) -> None:
        function = StuckWithDefault()
        results = run(function, [1, 2], timeout_ms=20, ordered=ordered)
        assert results == [("no answer for 1", 10), ("no answer for 2", 20)]
        assert (function.timeouts, function.ended) == ([1, 2], [1, 2])

    def test_it_may_come_in_a_later_epoch(self) -> None:
        harness = async_harness(StuckWithDefault(), timeout_ms=120)
        harness.process(1)
        harness.end_epoch()
        assert harness.outputs() == []
        eventually(lambda: harness.operator.next_wakeup_ms() == 0)
        harness.operator.on_processing_time(0)
        assert harness.outputs() == ["no answer for 1"]
        harness.close()

    def test_it_must_return_a_list(self) -> None:
        class Wrong(Stuck):
            def timeout(self, value: Any) -> Any:
                return None

        with pytest.raises(RuntimeError, match=r"The result of AsyncFunction cannot be none, .*of class 'Wrong'"):
            run(Wrong(), [1], timeout_ms=20)

    def test_it_is_asked_once_even_if_it_fails(self) -> None:
        class Failing(Stuck):
            def timeout(self, value: Any) -> Any:
                self.timeouts.append(value)
                raise ValueError(f"nothing for {value}")

        function = Failing()
        with pytest.raises(ValueError, match="nothing for 1"):
            run(function, [1], timeout_ms=20)
        assert (function.timeouts, function.ended) == ([1], [1])

    def test_it_holds_for_a_coroutine_that_blocks_the_loop(self) -> None:
        class Blocking(StuckWithDefault):
            async def async_invoke(self, value: Any) -> list[Any]:
                time.sleep(0.05)
                return [value]

        assert run(Blocking(), [1], timeout_ms=20) == [("no answer for 1", 10)]

    def test_an_answer_in_spite_of_it_is_ignored(self) -> None:
        class Stubborn(StuckWithDefault):
            async def async_invoke(self, value: Any) -> list[Any]:
                with contextlib.suppress(asyncio.CancelledError):
                    await asyncio.sleep(60)
                return ["too late"]

        assert run(Stubborn(), [1], timeout_ms=20) == [("no answer for 1", 10)]

    def test_zero_means_none(self) -> None:
        class Slow(AsyncFunction[int, int]):
            async def async_invoke(self, value: int) -> list[int]:
                await asyncio.sleep(0.03)
                return [value]

        assert run(Slow(), [1], timeout_ms=0) == [(1, 10)]

    def test_it_frees_its_slot(self) -> None:
        assert len(run(StuckWithDefault(), list(range(6)), timeout_ms=10, capacity=2)) == 6


class TestRetry:
    def test_by_result(self) -> None:
        function = Answering([], [], ["found"])
        retry = AsyncRetryStrategy.fixed_delay(5, 10, empty_result_predicate, None)
        assert run(function, [1], retry=retry) == [("found", 10)]
        first, second, third = function.attempts
        assert second - first >= 0.009 and third - second >= 0.009

    def test_by_exception(self) -> None:
        function = Answering(ConnectionError("reset"), ConnectionError("reset"), ["found"])
        retry: AsyncRetryStrategy[Any] = AsyncRetryStrategy.fixed_delay(5, 1, None, has_exception_predicate)
        assert run(function, [1], retry=retry) == [("found", 10)]

    def test_by_the_type_of_the_exception(self) -> None:
        function = Answering(ConnectionError("reset"), ValueError("bad"), ["never"])
        is_connection = partial(exception_type_predicate, expected_error_type=ConnectionError)
        with pytest.raises(ValueError, match="bad"):
            run(function, [1], retry=AsyncRetryStrategy.fixed_delay(5, 1, None, is_connection))
        assert len(function.attempts) == 2

    @pytest.mark.parametrize("attempts", [1, 3])
    def test_the_last_outcome_counts_when_no_attempt_is_left(self, attempts: int) -> None:
        retry = AsyncRetryStrategy.fixed_delay(attempts, 1, empty_result_predicate, has_exception_predicate)
        function = Answering(*[[] for _ in range(attempts + 1)])
        assert run(function, [1], retry=retry) == []
        assert len(function.attempts) == attempts + 1
        failing = Answering(*[ConnectionError(f"number {number}") for number in range(attempts + 1)])
        with pytest.raises(ConnectionError, match=f"number {attempts}"):
            run(failing, [1], retry=retry)

    def test_delays_grow(self) -> None:
        function = Answering([], [], [], ["found"])
        retry = AsyncRetryStrategy.exponential_backoff(5, 10, 30, 2.0, empty_result_predicate, None)
        run(function, [1], retry=retry)
        delays = [after - before for before, after in zip(function.attempts, function.attempts[1:])]
        assert all(delay >= expected for delay, expected in zip(delays, [0.009, 0.019, 0.029], strict=True))

    def test_elements_that_are_repeated_at_the_same_time_have_delays_of_their_own(self) -> None:
        retry: AsyncRetryStrategy[Any] = AsyncRetryStrategy.exponential_backoff(
            9, 10, 1_000, 2.0, empty_result_predicate, None
        )
        assert [retry.get_backoff_time_millis(attempt) for attempt in (2, 2, 3, 2, 1, 3)] == [20, 20, 40, 20, 10, 40]

    def test_the_timeout_ends_all_attempts(self) -> None:
        class NeverReady(StuckWithDefault):
            async def async_invoke(self, value: Any) -> list[Any]:
                return []

        retry = AsyncRetryStrategy.fixed_delay(1_000, 5, empty_result_predicate, None)
        assert run(NeverReady(), [1], retry=retry, timeout_ms=40) == [("no answer for 1", 10)]

    def test_a_predicate_that_fails_fails_the_operator(self) -> None:
        def broken(results: list[Any]) -> bool:
            raise ArithmeticError("bad predicate")

        with pytest.raises(ArithmeticError, match="bad predicate"):
            run(Answering([1]), [1], retry=AsyncRetryStrategy.fixed_delay(1, 1, broken, None))

    def test_while_it_waits_other_elements_go_on(self) -> None:
        class FirstFails(AsyncFunction[int, int]):
            def __init__(self) -> None:
                self.calls: list[int] = []

            async def async_invoke(self, value: int) -> list[int]:
                self.calls.append(value)
                return [] if value == 1 and self.calls.count(1) == 1 else [value]

        retry = AsyncRetryStrategy.fixed_delay(3, 20, empty_result_predicate, None)
        assert run(FirstFails(), [1, 2, 3], retry=retry, ordered=False) == [(2, 20), (3, 30), (1, 10)]
        assert run(FirstFails(), [1, 2, 3], retry=retry, ordered=True) == [(1, 10), (2, 20), (3, 30)]
