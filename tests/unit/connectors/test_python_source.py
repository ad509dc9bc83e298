"""Sources that users write: whole splits, resumable splits, source functions; and the examples in their texts."""

from __future__ import annotations

import doctest
import threading
import time
from collections.abc import Generator, Iterable, Iterator
from typing import Any

import cloudpickle
import pytest

from funke.engine.connectors import (
    collection,
    generator,
    sequence,
    source_function,
)
from funke.engine.connectors.files import file_source
from funke.engine.connectors.python_source import PythonSource, ResumablePythonSource
from funke.engine.connectors.source import ReadOutcome, SplitEnumerator
from funke.engine.connectors.source_function import SourceFunctionContext, SourceFunctionSource
from funke.engine.connectors.spark import source as spark_source
from funke.engine.errors import ConfigurationError, SourceError, UnsupportedFeatureError
from funke.engine.operators.time.clock import ManualClock
from funke.engine.types.information.type_catalog import Types
from tests.unit.connectors.source_draining import drain, drain_with_restart, read_split, run_epoch


class Words(PythonSource):
    records_per_split = 10

    def __init__(self, *strings: str) -> None:
        self.strings = list(strings)

    def enumerate_splits(self) -> Iterable[str]:
        return self.strings

    def read_split(self, split: str) -> Iterator[str]:
        yield from split.split()


def test_every_split_is_read_once() -> None:
    source = Words("a b c", "", "d e")
    assert drain(source, max_records=10) == ["a", "b", "c", "d", "e"]
    for epochs in range(4):
        assert drain_with_restart(source, epochs, max_records=10) == ["a", "b", "c", "d", "e"]


def test_there_is_a_split_for_every_subtask_and_an_epoch_has_about_the_wanted_size() -> None:
    source = Words(*[f"{number} x" for number in range(100)])
    enumerator = source.create_enumerator(4)
    assert len(enumerator.poll(1)) == 4
    assert len(enumerator.poll(100)) == 10
    run_epoch(source, enumerator, 200)
    assert len(enumerator.poll(50)) == 25


def test_values_may_carry_timestamps() -> None:
    class Timed(Words):
        with_timestamps = True

        def read_split(self, split: str) -> Iterator[Any]:
            yield from ((word, position) for position, word in enumerate(split.split()))

    source = Timed("a b")
    assert read_split(source.create_reader(), source.create_enumerator(1).poll(1)[0])[:2] == (["a", "b"], [0, 1])


def test_an_unbounded_source_is_asked_again_for_splits() -> None:
    class Growing(Words):
        is_bounded = False
        clock = ManualClock(0)

    source = Growing("a b")
    enumerator = source.create_enumerator(1)
    assert run_epoch(source, enumerator, 100) == ["a", "b"]
    source.strings.append("c")
    assert run_epoch(source, enumerator, 100) == []
    assert enumerator.next_poll_ms() == 1000
    Growing.clock.set(1000)
    assert run_epoch(source, enumerator, 100) == ["c"]
    assert not enumerator.is_finished
    source.strings.append("d")
    assert run_epoch(source, source.create_enumerator(1, enumerator.snapshot()), 100) == ["d"]


class Pages(ResumablePythonSource):
    """Reads a range of numbers, three at a time."""

    clock = ManualClock(0)

    def enumerate_splits(self) -> Iterable[tuple[int, int]]:
        return [(0, 7), (100, 102)]

    def read_split(self, split: Any, position: Any = None) -> Generator[int, None, Any]:
        first, end = split
        start = first if position is None else position
        yield from range(start, min(start + 3, end))
        return start + 3 if start + 3 < end else self.END


def test_resumable_splits_go_on_where_they_were() -> None:
    expected = [0, 1, 2, 100, 101, 3, 4, 5, 6]
    assert drain(Pages()) == expected
    for epochs in range(4):
        assert drain_with_restart(Pages(), epochs) == expected


def test_pieces_of_a_resumable_split_share_its_id_and_the_last_one_is_empty() -> None:
    source = Pages()
    enumerator = source.create_enumerator(1)
    seen: list[tuple[str, bool]] = []
    while not enumerator.is_finished:
        before = enumerator.snapshot()
        splits = enumerator.poll(100)
        seen += [(split.id, split.is_last) for split in splits]
        assert run_all(source, source.create_enumerator(1, before)) is not None
        report_all(source, enumerator, splits)
    assert [is_last for split_id, is_last in seen if split_id == "(100, 102)"] == [False, True]
    assert [is_last for split_id, is_last in seen if split_id == "(0, 7)"] == [False, False, False, True]


def report_all(source: Pages, enumerator: SplitEnumerator, splits: list[Any]) -> None:
    for split in splits:
        values, _, result = read_split(source.create_reader(), split)
        enumerator.report(ReadOutcome(split, len(values), result))


def run_all(source: Pages, enumerator: SplitEnumerator) -> list[Any]:
    results: list[Any] = []
    while not enumerator.is_finished:
        results += run_epoch(source, enumerator, 100)
    return results


def test_a_split_that_is_being_read_is_not_handed_out_again() -> None:
    enumerator = Pages().create_enumerator(2)
    assert len(enumerator.poll(100)) == 2
    assert enumerator.poll(100) == []


def test_an_empty_piece_gives_a_pause() -> None:
    class Quiet(Pages):
        clock = ManualClock(0)

        def read_split(self, split: Any, position: Any = None) -> Generator[int, None, Any]:
            yield from ()
            return "later"

    source = Quiet()
    enumerator = source.create_enumerator(1)
    assert run_epoch(source, enumerator, 100) == []
    assert enumerator.poll(100) == []
    assert enumerator.next_poll_ms() == 100
    Quiet.clock.set(100)
    assert [split.payload.position for split in enumerator.poll(100)] == ["later", "later"]


def test_a_forgotten_position_is_an_error() -> None:
    class Forgetful(Pages):
        def read_split(self, split: Any, position: Any = None) -> Generator[int, None, Any]:
            yield 1

    source = Forgetful()
    with pytest.raises(SourceError, match="Forgetful returned no position"):
        run_epoch(source, source.create_enumerator(1), 10)


class Counter:
    """A source function as PyFlink programs of 1.x have them."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.is_running = True
        self.emitted = 0

    def run(self, ctx: SourceFunctionContext) -> None:
        while self.is_running and (number := self.emitted) < self.count:
            self.emitted += 1
            with ctx.get_checkpoint_lock():
                if number % 2:
                    ctx.collect(number)
                else:
                    ctx.collect_with_timestamp(number, number * 10)

    def cancel(self) -> None:
        self.is_running = False


def test_a_source_function_runs_until_it_returns() -> None:
    assert drain(SourceFunctionSource(Counter(1000)), max_records=64) == list(range(1000))


def test_a_source_function_gives_timestamps_to_some_records() -> None:
    source = SourceFunctionSource(Counter(3), Types.BYTE())
    enumerator = source.create_enumerator(1)
    while not (splits := enumerator.poll(1)) or len(splits[0].payload) < 1:
        time.sleep(0.01)
    collected = [read_split(source.create_reader(), splits[0])[:2]]
    while not enumerator.is_finished:
        collected += [read_split(source.create_reader(), split)[:2] for split in enumerator.poll(10)]
    assert [value for values, _ in collected for value in values] == [0, 1, 2]
    assert [timestamp for _, times in collected for timestamp in times] == [0, None, 20]


def test_a_source_function_waits_while_the_job_is_behind_and_can_be_cancelled() -> None:
    function = Counter(10**9)
    enumerator = SourceFunctionSource(function, capacity=10).create_enumerator(1)
    end = time.monotonic() + 10
    while function.emitted < 11 and time.monotonic() < end:  # the last of them waits
        time.sleep(0.01)
    assert len(enumerator.poll(1000)[0].payload) == 10
    threads = threading.active_count()
    enumerator.close()
    assert not function.is_running
    assert threading.active_count() == threads - 1


def test_what_a_source_function_raises_comes_after_its_records() -> None:
    class Broken(Counter):
        def run(self, ctx: SourceFunctionContext) -> None:
            ctx.collect("first")
            raise LookupError("no more input")

    source = SourceFunctionSource(Broken(0))
    enumerator = source.create_enumerator(1)
    results = []
    with pytest.raises(LookupError, match="no more input"):
        while True:
            results += run_epoch(source, enumerator, 10)
    assert results == ["first"]


@pytest.mark.parametrize("name", ["emit_watermark", "mark_as_temporarily_idle"])
def test_what_source_functions_cannot_do_is_said(name: str) -> None:
    assert hasattr(SourceFunctionContext, name)
    with pytest.raises(UnsupportedFeatureError, match=name):
        getattr(SourceFunctionContext, name)()


def test_an_object_without_run_is_no_source_function() -> None:
    with pytest.raises(ConfigurationError, match=r"has no method run\(\)"):
        SourceFunctionSource(object())


def test_a_source_class_of_the_users_program_travels_to_the_tasks() -> None:
    # cloudpickle sends classes of __main__ and of functions by value.
    reader = cloudpickle.loads(cloudpickle.dumps(Words("a").create_reader()))
    assert [values for values, _ in reader.read(Words("a b").create_enumerator(1).poll(1)[0])] == [["a", "b"]]


@pytest.mark.parametrize("module", [collection, sequence, generator, source_function, file_source, spark_source])
def test_the_examples_in_the_strings_run(module: Any) -> None:
    result = doctest.testmod(module)
    assert result.attempted > 0
    assert result.failed == 0
