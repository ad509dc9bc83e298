"""Where records go between subtasks, by each partitioner, and in which order they arrive."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from funke.engine.errors import JobExecutionError
from funke.engine.graph.partitioners import (
    Broadcast,
    Custom,
    Forward,
    Global,
    Hash,
    Partitioner,
    Rebalance,
    Rescale,
    Shuffle,
)
from funke.engine.operators.block_parts import RecordsPart, WatermarkPart
from funke.engine.runtime.blocks import router as router_module
from funke.engine.runtime.blocks.router import create_router, rescale_receivers, senders_to
from funke.engine.types.keys.key_groups import KeyGroups


def routed(
    partitioner: Partitioner,
    batches: list[list[Any]],
    *,
    subtask: int = 0,
    parallelism: int = 2,
    receivers: int = 3,
    watermark: int | None = None,
) -> dict[int, list[Any]]:
    """What each receiver gets, in order; watermarks as texts."""
    values_of: dict[int, list[Any]] = {receiver: [] for receiver in range(receivers)}

    def send(receiver: int, parts: list[Any]) -> int:
        for part in parts:
            values_of[receiver] += part.values if isinstance(part, RecordsPart) else [f"watermark {part.timestamp}"]
        return 100

    router = create_router(partitioner, subtask, parallelism, receivers, KeyGroups(128), send)
    for batch in batches:
        router.process_batch(batch, None)
    if watermark is not None:
        router.process_watermark(watermark)
    router.flush()
    return values_of


def test_forward_sends_to_the_subtask_of_the_same_number_in_order() -> None:
    received = routed(Forward(), [[3, 1], [2]], subtask=1, parallelism=3)
    assert received == {0: [], 1: [3, 1, 2], 2: []}


def test_broadcast_sends_everything_to_everybody() -> None:
    assert routed(Broadcast(), [[1, 2], [3]]) == {0: [1, 2, 3], 1: [1, 2, 3], 2: [1, 2, 3]}


def test_global_sends_everything_to_the_first() -> None:
    assert routed(Global(), [[1, 2], [3]]) == {0: [1, 2, 3], 1: [], 2: []}


def test_rebalance_goes_round_over_batches() -> None:
    assert routed(Rebalance(), [[0, 1, 2, 3], [4], [5, 6]]) == {0: [0, 3, 6], 1: [1, 4], 2: [2, 5]}


def test_rebalance_evens_out_what_one_sender_has_too_much_of() -> None:
    received = routed(Rebalance(), [["hot"] * 9_000], receivers=4)
    assert [len(values) for values in received.values()] == [2250] * 4


@pytest.mark.parametrize(
    ("senders", "receivers", "expected"),
    [
        (2, 4, [[0, 1], [2, 3]]),
        (4, 2, [[0], [0], [1], [1]]),
        (2, 3, [[0, 1], [2]]),
        (3, 2, [[0], [1], [1]]),
        (2, 2, [[0], [1]]),
    ],
)
def test_rescale_gives_each_sender_receivers_of_its_own(
    senders: int, receivers: int, expected: list[list[int]]
) -> None:
    assert [rescale_receivers(sender, senders, receivers) for sender in range(senders)] == expected
    for receiver in range(receivers):
        sender_numbers = senders_to(Rescale(), receiver, senders, receivers)
        assert sender_numbers == [sender for sender in range(senders) if receiver in expected[sender]]


def test_rescale_alternates_over_its_receivers() -> None:
    received = routed(Rescale(), [[0, 1, 2], [3]], subtask=1, parallelism=2, receivers=4)
    assert received == {0: [], 1: [], 2: [0, 2], 3: [1, 3]}


def test_shuffle_is_uniform_and_loses_nothing() -> None:
    received = routed(Shuffle(), [list(range(12_000))], receivers=4)
    assert sorted(value for values in received.values() for value in values) == list(range(12_000))
    # Four receivers with 3000 each on average; a standard deviation is 47.
    assert all(2_700 < len(values) < 3_300 for values in received.values())


@pytest.mark.parametrize("subtask", [0, 1])
def test_a_key_goes_to_one_subtask_whoever_sends_it(subtask: int) -> None:
    keys = ["a", "b", ("t", 1), None, 2.5, [1, 2]]
    received = routed(
        Hash(lambda pair: pair[0]), [[(key, number) for key in keys] for number in range(3)], subtask=subtask
    )
    for key in keys:
        owner = KeyGroups(128).subtask_of(KeyGroups(128).of(key), 3)
        assert [number for other, number in received[owner] if other == key] == [0, 1, 2]
    assert sum(len(values) for values in received.values()) == 3 * len(keys)


@pytest.mark.parametrize(
    "key",
    [lambda n: n - 500, lambda n: f"user-{n}", lambda n: (n, "a"), lambda n: [n, str(n), None, 1 << 70, True][n % 5]],
    ids=["integers", "strings", "tuples", "mixed"],
)
@pytest.mark.parametrize("receivers", [1, 3])
def test_it_goes_there_in_batches_of_any_size_and_beyond_the_keys_that_are_remembered(
    key: Callable[[int], Any], receivers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(router_module, "_MOST_CACHED_PLAIN_KEYS", 100)
    monkeypatch.setattr(router_module, "_MOST_CACHED_KEYS", 200)
    values = [(key(number % 700), number) for number in range(3_000)]
    owners: dict[int, list[Any]] = {receiver: [] for receiver in range(receivers)}
    for value in values:
        owners[KeyGroups(128).subtask_of(KeyGroups(128).of(value[0]), receivers)].append(value)
    for size in (1, 50, 3_000):
        batches = [values[start : start + size] for start in range(0, len(values), size)]
        assert routed(Hash(lambda pair: pair[0]), batches, receivers=receivers) == owners


def test_a_custom_partitioner_decides_and_is_held_to_the_number_of_receivers() -> None:
    received = routed(Custom(lambda key, count: key % count, abs), [[-1, 2, 3, 4]])
    assert received == {0: [3], 1: [-1, 4], 2: [2]}
    with pytest.raises(JobExecutionError, match="chose receiver 7: with 3 receivers, return 0 to 2"):
        routed(Custom(lambda key, count: 7, abs), [[1]])
    with pytest.raises(JobExecutionError, match="chose receiver 'first': with 3 receivers"):
        routed(Custom(lambda key, count: "first", abs), [[1]])  # type: ignore[arg-type, return-value]


def test_a_custom_partitioner_may_answer_with_a_number_that_is_no_int() -> None:
    assert routed(Custom(lambda key, count: key / 2, abs), [[1, 2, 3, 4]]) == {0: [1], 1: [2, 3], 2: [4]}  # type: ignore[arg-type, return-value]
    with pytest.raises(JobExecutionError, match="chose receiver nan"):
        routed(Custom(lambda key, count: float("nan"), abs), [[1]])  # type: ignore[arg-type, return-value]


@pytest.mark.parametrize("partitioner", [Rebalance(), Shuffle(), Global(), Hash(lambda value: value), Broadcast()])
def test_order_is_kept_from_one_sender_to_one_receiver_and_watermarks_reach_all(partitioner: Partitioner) -> None:
    received = routed(partitioner, [list(range(100)), list(range(100, 200))], watermark=77)
    for values in received.values():
        assert values[-1] == "watermark 77"
        assert values[:-1] == sorted(values[:-1])
    is_copied = isinstance(partitioner, Broadcast)
    counts = Counter(value for values in received.values() for value in values[:-1])
    assert counts == dict.fromkeys(range(200), 3 if is_copied else 1)


def bounded_blocks(batches: list[list[Any]], most_bytes: int) -> list[list[Any]]:
    blocks: list[list[Any]] = []

    def send(receiver: int, parts: list[Any]) -> int:
        blocks.append(parts)
        return sum(sum(map(len, part.values)) for part in parts if isinstance(part, RecordsPart))

    router = create_router(Global(), 0, 1, 1, KeyGroups(128), send)
    router.bound(0, most_bytes)
    router.bound(7, 1)  # of a receiver that it does not have
    for batch in batches:
        router.process_batch(batch, list(range(len(batch))))
    router.process_watermark(5)
    router.flush()
    return blocks


def test_blocks_for_a_receiver_have_no_more_bytes_than_it_wants() -> None:
    records = ["x" * 10 for _ in range(95)]
    blocks = bounded_blocks([records], 100)
    runs = [part for block in blocks for part in block if isinstance(part, RecordsPart)]
    sizes = [len(part.values) for part in runs]
    assert sum(sizes) == 95 and max(sizes) == 10 and len(sizes) <= 12
    assert [stamp for part in runs for stamp in part.timestamps] == list(range(95))
    assert [*map(type, blocks[-1])] == [RecordsPart, WatermarkPart] and len(blocks[-1][0].values) == 95 % 10 - 1


def test_a_record_that_is_too_long_has_a_block_of_its_own() -> None:
    blocks = bounded_blocks([["x" * 1000, "y" * 1000, "z" * 1000]], 100)
    assert [len(part.values) for block in blocks for part in block if isinstance(part, RecordsPart)] == [1, 1, 1]


@pytest.mark.parametrize("receivers", [1, 2])
def test_the_key_that_most_records_have_is_known_to_whoever_sends_them(receivers: int) -> None:
    calls: list[Any] = []

    def key(value: Any) -> Any:
        calls.append(value)
        return value

    router = create_router(Hash(key), 0, 1, receivers, KeyGroups(128), lambda receiver, parts: 100)
    # Lists, which a dict cannot hold, too.
    values = [["EU"]] * 300 + [[number] for number in range(100)]
    router.process_batch(values, None)
    assert router.hottest_key() == {"hottestKey": "['EU']", "hottestKeyShare": 0.75}
    assert len(calls) == len(values), "the selector is not called once more"
    others = create_router(Rebalance(), 0, 1, 2, KeyGroups(128), lambda receiver, parts: 100)
    others.process_batch(values, None)
    assert others.hottest_key() == {}
