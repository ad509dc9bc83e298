"""Which subtask reads which split, and what becomes of splits that an epoch did not finish."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from funke.engine.connectors.source import ReadOutcome, Split, SplitEnumerator
from funke.engine.errors import JobExecutionError
from funke.engine.jobs.sources.source_coordinator import SourceCoordinator
from funke.engine.operators.operator import MIN_WATERMARK
from funke.engine.operators.source import ReadReport
from funke.engine.planner.chaining import to_job_graph
from tests.unit.graph.sample_graphs import GraphBuilder


class Remembering(SplitEnumerator):
    def __init__(self) -> None:
        self.read_outcomes: list[ReadOutcome] = []

    def poll(self, max_records: int) -> list[Split]:
        raise ZeroDivisionError("no splits today")

    is_finished = False  # type: ignore[assignment]

    def report(self, outcome: ReadOutcome) -> None:
        self.read_outcomes.append(outcome)


@pytest.fixture
def coordinator() -> SourceCoordinator:
    builder = GraphBuilder(parallelism=2)
    builder.map(builder.source(parallelism=2))
    vertex = to_job_graph(builder.graph).vertices[0]
    return SourceCoordinator(vertex, 0, object(), Remembering())  # type: ignore[arg-type]


def accept(
    coordinator: SourceCoordinator,
    subtask: int,
    *outcomes: ReadOutcome,
    left: tuple[int, ...] = (),
    watermark: int = 5,
    is_idle: bool = False,
) -> None:
    """The subtask reports what it has read, and how many records of each split that it has not finished."""
    records = sum(outcome.records for outcome in outcomes)
    coordinator.accept(subtask, ReadReport(outcomes, left, watermark, is_idle, records))


def read(name: str, records: int, result: Any = None) -> ReadOutcome:
    """A split was read to its end; its payload does not travel back."""
    return ReadOutcome(Split(name, None), records, result)


def ids(coordinator: SourceCoordinator, splits: list[Split]) -> list[list[str]]:
    return [[split.id for split in command.splits] for command in coordinator.commands(splits)]


def test_splits_go_to_the_subtask_with_the_least_to_read(coordinator: SourceCoordinator) -> None:
    splits = [Split("a", 0, weight=10), Split("b", 0, weight=3), Split("c", 0, weight=3), Split("d", 0, weight=5)]
    assert ids(coordinator, splits) == [["a"], ["b", "c", "d"]]


def test_pieces_of_one_split_stay_with_one_subtask_until_the_last(coordinator: SourceCoordinator) -> None:
    assert ids(coordinator, [Split("a", 1, False), Split("b", 1, False)]) == [["a"], ["b"]]
    assert ids(coordinator, [Split("b", 2, False, weight=9), Split("a", 2, is_last=True)]) == [["a"], ["b"]]
    accept(coordinator, 0, read("a", 1), read("a", 1))
    accept(coordinator, 1, read("b", 1), read("b", 9))
    # The id has ended: it may come again anywhere.
    assert ids(coordinator, [Split("c", 0, weight=5), Split("a", 3)]) == [["c"], ["a"]]


def test_splits_that_come_one_at_a_time_go_to_who_has_least_left(coordinator: SourceCoordinator) -> None:
    assert ids(coordinator, [Split("a", 0, weight=90)]) == [["a"], []]
    assert ids(coordinator, [Split("b", 0, weight=80)]) == [[], ["b"]]
    assert ids(coordinator, [Split("c", 0, weight=5)]) == [[], ["c"]]
    accept(coordinator, 0, read("a", 90))
    assert ids(coordinator, [Split("d", 0, weight=70)]) == [["d"], []]


def test_a_new_split_goes_to_the_subtask_with_the_fewest_that_go_on(coordinator: SourceCoordinator) -> None:
    assert ids(coordinator, [Split("a", 1, False)]) == [["a"], []]
    # Both are as long; the first of them is new.
    assert ids(coordinator, [Split("b", 1, False), Split("a", 2, False)]) == [["a"], ["b"]]


def test_every_subtask_gets_a_command(coordinator: SourceCoordinator) -> None:
    assert ids(coordinator, []) == [[], []]


def test_the_enumerator_hears_of_its_own_splits(coordinator: SourceCoordinator) -> None:
    split = Split("a", ["the", "payload"])
    coordinator.commands([split])
    accept(coordinator, 0, read("a", 2, "end"))
    assert coordinator.enumerator.read_outcomes == [ReadOutcome(split, 2, "end")]  # type: ignore[attr-defined]
    assert coordinator.records == 2
    assert not coordinator.has_unfinished


def test_what_an_epoch_leaves_stays_with_its_subtask(coordinator: SourceCoordinator) -> None:
    splits = [Split(name, 0) for name in ("a", "b", "c", "d", "e", "f")]
    assert ids(coordinator, splits) == [["a", "c", "e"], ["b", "d", "f"]]
    accept(coordinator, 0, read("a", 4), left=(7, 0))
    accept(coordinator, 1, *(read(name, 1) for name in "bdf"))
    assert coordinator.has_unfinished
    assert ids(coordinator, []) == [[], []]
    accept(coordinator, 0, read("c", 9), read("e", 1))
    assert not coordinator.has_unfinished
    outcomes: Any = coordinator.enumerator.read_outcomes  # type: ignore[attr-defined]
    assert [outcome.split.id for outcome in outcomes] == ["a", "b", "d", "f", "c", "e"]


def test_two_pieces_of_one_split_that_are_cut(coordinator: SourceCoordinator) -> None:
    coordinator.commands([Split("a", 1, False), Split("a", 2, False)])
    accept(coordinator, 0, left=(3, 0))
    accept(coordinator, 0, read("a", 5), read("a", 6))
    outcomes: Any = coordinator.enumerator.read_outcomes  # type: ignore[attr-defined]
    assert [(outcome.split.payload, outcome.records) for outcome in outcomes] == [(1, 5), (2, 6)]


def test_the_watermark_is_the_lowest_of_the_subtasks_that_are_not_idle(coordinator: SourceCoordinator) -> None:
    assert coordinator.watermark == MIN_WATERMARK
    accept(coordinator, 0, watermark=10)
    accept(coordinator, 1, watermark=3)
    assert coordinator.watermark == 3
    accept(coordinator, 1, watermark=3, is_idle=True)
    assert coordinator.watermark == 10


def test_a_failing_enumerator_is_named(coordinator: SourceCoordinator) -> None:
    with pytest.raises(JobExecutionError, match="operator 'Source: numbers' failed: ZeroDivisionError: no splits"):
        coordinator.poll(10)


def test_subtasks_hear_that_nothing_follows(coordinator: SourceCoordinator) -> None:
    assert [command.is_over for command in coordinator.commands([Split("a", 0)])] == [False, False]
    accept(coordinator, 0, read("a", 1))
    assert not coordinator.has_end_to_tell
    coordinator.enumerator.is_finished = True  # type: ignore[misc]
    assert coordinator.has_end_to_tell
    assert [command.is_over for command in coordinator.commands([Split("b", 0)])] == [True, True]
    assert not coordinator.has_end_to_tell


def unfinished_coordinator(coordinator: SourceCoordinator) -> SourceCoordinator:
    """Two subtasks, each in the middle of a split with another one waiting."""
    splits = [Split("a", 0, False), Split("b", 0, False), Split("c", 0), Split("d", 0)]
    assert ids(coordinator, splits) == [["a", "c"], ["b", "d"]]
    for subtask in (0, 1):
        accept(coordinator, subtask, left=(5 + subtask, 0), watermark=10 * (subtask + 1))
    return coordinator


def restarted(coordinator: SourceCoordinator, parallelism: int) -> SourceCoordinator:
    new = SourceCoordinator(replace(coordinator.vertex, parallelism=parallelism), 0, object(), coordinator.enumerator)  # type: ignore[arg-type]
    coordinator.enumerator.snapshot = lambda: None  # type: ignore[method-assign]
    new.restore(coordinator.snapshot())
    return new


def left(coordinator: SourceCoordinator) -> list[list[tuple[str, int]]]:
    commands = coordinator.commands([])
    return [[(split.id, read) for split, read in zip(command.splits, command.skips)] for command in commands]


@pytest.mark.parametrize(
    ("parallelism", "expected"),
    [
        (1, [[("a", 5), ("c", 0), ("b", 6), ("d", 0)]]),
        (2, [[("a", 5), ("c", 0)], [("b", 6), ("d", 0)]]),
        (3, [[("a", 5), ("d", 0)], [("c", 0)], [("b", 6)]]),
    ],
)
def test_unfinished_splits_are_read_on_with_any_parallelism(
    coordinator: SourceCoordinator, parallelism: int, expected: list[list[tuple[str, int]]]
) -> None:
    assert left(restarted(unfinished_coordinator(coordinator), parallelism)) == expected


@pytest.mark.parametrize("parallelism", [2, 3])
def test_receivers_learn_once_how_far_event_time_had_come(coordinator: SourceCoordinator, parallelism: int) -> None:
    again = restarted(unfinished_coordinator(coordinator), parallelism)
    # The lowest watermark of the subtasks.
    assert [command.restored_watermark for command in again.commands([])] == [10] * parallelism
    assert {command.restored_watermark for command in again.commands([])} == {None}


def test_an_ongoing_split_stays_where_its_watermark_is(coordinator: SourceCoordinator) -> None:
    ids(coordinator, [Split("a", 1, False), Split("b", 1, False)])
    for subtask, name in enumerate("ab"):
        accept(coordinator, subtask, read(name, 1))
    again = restarted(coordinator, 2)
    assert ids(again, [Split("b", 2, False), Split("a", 2, False)]) == [["a"], ["b"]]


def test_splits_without_an_end_keep_nobody_from_getting_more(coordinator: SourceCoordinator) -> None:
    ids(coordinator, [Split(name, None, is_last=False, is_endless=True) for name in "abcd"])
    assert coordinator.has_unfinished
    assert coordinator.is_hungry and not coordinator.has_leftovers
    ids(coordinator, [Split(name, None) for name in "efgh"])
    assert not coordinator.is_hungry and coordinator.has_leftovers


@pytest.mark.parametrize("is_on_its_way", [False, True])
def test_what_a_subtask_reports_before_it_has_a_command_does_not_count(
    coordinator: SourceCoordinator, is_on_its_way: bool
) -> None:
    """It knows nothing of what the attempt before had read: records would come twice.

    The barrier of another slot may have overtaken the order.
    """
    again = restarted(unfinished_coordinator(coordinator), 2)
    if is_on_its_way:
        again.commands([])
    again.begin_cut()
    for subtask in range(2):
        again.cut(subtask, ReadReport((), (), MIN_WATERMARK, True, 0, has_begun=False))
    assert again.is_cut and left(restarted(again, 2)) == [[("a", 5), ("c", 0)], [("b", 6), ("d", 0)]]


def owners_one_by_one(parallelism: int, weights: list[int]) -> list[int]:
    """Whom each split goes to, the heaviest first: the subtask with the least to read, then with the fewest splits."""
    load, count, owners = [0] * parallelism, [0] * parallelism, [0] * len(weights)
    for number in sorted(range(len(weights)), key=lambda number: -weights[number]):
        least = min(range(parallelism), key=lambda subtask: (load[subtask], count[subtask], subtask))
        load[least] += max(1, weights[number])
        count[least] += 1
        owners[number] = least
    return owners


@given(some.integers(1, 9), some.lists(some.lists(some.integers(0, 5), max_size=12), max_size=4))
def test_each_split_goes_to_the_subtask_with_the_least_to_read(parallelism: int, polls: list[list[int]]) -> None:
    builder = GraphBuilder(parallelism)
    builder.map(builder.source(parallelism=parallelism))
    vertex = to_job_graph(builder.graph).vertices[0]
    coordinator = SourceCoordinator(vertex, 0, object(), Remembering())  # type: ignore[arg-type]
    weights = [weight for poll in polls for weight in sorted(poll, reverse=True)]
    expected = owners_one_by_one(parallelism, weights[: len(polls[0])]) if polls else []
    given_to: dict[str, int] = {}
    names = iter(range(len(weights)))
    for poll in polls:
        splits = [Split(str(next(names)), None, is_last=False, weight=weight) for weight in sorted(poll, reverse=True)]
        for subtask, assigned in enumerate(ids(coordinator, splits)):
            given_to |= dict.fromkeys(assigned, subtask)
    assert len(given_to) == len(weights)
    assert [given_to[str(number)] for number in range(len(expected))] == expected
    totals = [0] * parallelism
    for name, subtask in given_to.items():
        totals[subtask] += max(1, weights[int(name)])
    # None is ahead of another by more than one split.
    assert max(totals) - min(totals) <= max([1, *weights])
