"""Credit: nothing is sent that the receiver has not promised to take, and what is on its way is bounded."""

from __future__ import annotations

import socket
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from funke.engine.operators.block_parts import ColumnsPart, Part, RecordsPart, WatermarkPart
from funke.engine.runtime.blocks.block_codec import encode_block
from funke.engine.runtime.pipelined.channels import BufferPool, InChannel, LocalOut, RemoteOut
from funke.engine.runtime.pipelined.connection import BARRIER, BLOCK, CREDIT, Connection
from funke.engine.types.columns.column_batch import ColumnBatch

SEGMENT = 100


class Pair:
    """Both ends of some channels, between a sender and a receiver that take turns as a test says."""

    def __init__(self, channels: int, exclusive: int, floating: int, segment_bytes: int = SEGMENT) -> None:
        left, right = socket.socketpair()
        self.sending, self.receiving = Connection(left), Connection(right)
        self.pool = BufferPool(floating)
        self.ins = [InChannel(number, 0, number, self.pool, exclusive, segment_bytes) for number in range(channels)]
        self.outs = [RemoteOut(number, self.sending, exclusive, segment_bytes) for number in range(channels)]
        for channel in self.ins:
            channel.connect(self.receiving)

    def transfer(self) -> None:
        """What both have said reaches the other."""
        self.sending.flush()
        for packet in self.receiving.receive():
            self.ins[packet.channel].put(packet.kind, packet.payload, len(packet.payload), packet.number)
        for channel in self.ins:
            channel.send_credit()
        self.receiving.flush()
        for packet in self.sending.receive():
            assert packet.kind == CREDIT
            self.outs[packet.channel].grant(packet.number, packet.payload)

    @property
    def waiting(self) -> int:
        return sum(channel.buffers for channel in self.ins)


def processed(channel: InChannel) -> tuple[int, Any]:
    """Takes a block and is done with it."""
    column = channel.take()
    channel.processed()
    return column


@settings(max_examples=60)
@given(
    steps=some.lists(some.tuples(some.integers(0, 2), some.integers(0, 3)), max_size=80),
    exclusive=some.integers(1, 3),
    floating=some.integers(0, 4),
)
def test_everything_arrives_in_order_within_the_buffers(
    steps: list[tuple[int, int]], exclusive: int, floating: int
) -> None:
    pair = Pair(3, exclusive, floating)
    sent: list[list[int]] = [[], [], []]
    received: list[list[int]] = [[], [], []]

    def take(number: int) -> None:
        if pair.ins[number].queue:
            _, parts = processed(pair.ins[number])
            received[number].append(parts[0].values[0])

    for step, (number, action) in enumerate(steps):
        if action < 2:
            pair.outs[number].send([RecordsPart([step], None)])
            sent[number].append(step)
        elif action == 2:
            take(number)
        pair.transfer()
        assert pair.waiting <= 3 * exclusive + floating
    for _ in range(500):
        for number in range(3):
            take(number)
        pair.transfer()
    assert received == sent
    assert not any(channel.queue for channel in pair.outs)
    assert pair.pool.free == floating


def test_a_subtask_that_takes_nothing_stops_only_its_own_senders() -> None:
    pair = Pair(2, exclusive=2, floating=2)
    changes: list[int] = []
    pair.outs[0].on_full = changes.append
    for number in range(20):
        pair.outs[0].send([RecordsPart([number], None)])
        pair.transfer()
    assert changes == [1], "it has no room any more"
    for number in range(20):
        pair.outs[1].send([RecordsPart([number], None)])
        pair.transfer()
        processed(pair.ins[1])
        pair.transfer()
    assert not pair.outs[1].queue


def test_credit_is_what_the_backlog_wants_and_free_buffers_allow() -> None:
    """Of a backlog of five blocks two are sent, because two buffers are free."""
    pair = Pair(1, exclusive=1, floating=2)
    for number in range(7):
        pair.outs[0].send([RecordsPart([number], None)])
    pair.transfer()
    processed(pair.ins[0])
    pair.transfer()  # credit for one block, which tells how many wait behind it
    assert (pair.waiting, len(pair.outs[0].queue), pair.pool.free) == (0, 5, 2)
    pair.transfer()  # credit for two
    assert (pair.waiting, len(pair.outs[0].queue), pair.pool.free) == (1, 3, 0)
    pair.transfer()
    assert (pair.waiting, len(pair.outs[0].queue), pair.outs[0].credit) == (3, 3, 0)


def test_a_long_block_takes_several_buffers() -> None:
    pair = Pair(1, exclusive=2, floating=0)
    for _ in range(3):
        pair.outs[0].send([RecordsPart(["x" * 1000], None)])
    pair.transfer()
    assert (pair.waiting, len(pair.outs[0].queue)) == (1, 2)
    for _ in range(3):
        processed(pair.ins[0])
        pair.transfer()  # the credit
        pair.transfer()  # the next block
    assert pair.outs[0].credit == 2


def columns(*values: int) -> ColumnsPart:
    return ColumnsPart(ColumnBatch(pa.record_batch([pa.array(values)], ["n"])))


def contents(parts: list[Part]) -> list[Any]:
    return [part.batch.data.column(0).to_pylist() if isinstance(part, ColumnsPart) else part for part in parts]


def test_short_blocks_of_columns_that_wait_are_taken_together() -> None:
    pair = Pair(1, exclusive=6, floating=0, segment_bytes=4096)
    mark = WatermarkPart(7)
    for block in ([columns(0)], [columns(1, 2)], [mark, columns(3)], [columns(4)]):
        pair.outs[0].send(block)
    pair.outs[0].send_mark(BARRIER, b"")
    pair.outs[0].send([columns(5)])
    pair.transfer()
    (channel,) = pair.ins
    kind, parts = channel.take()
    assert (kind, contents(parts)) == (BLOCK, [[0, 1, 2], mark, [3, 4]])
    pair.transfer()
    assert pair.outs[0].credit == 0, "they take their buffers until they have been processed"
    channel.processed()
    assert processed(channel) == (BARRIER, b"")
    kind, parts = processed(channel)
    assert (kind, contents(parts)) == (BLOCK, [[5]])
    pair.transfer()
    pair.transfer()
    assert pair.outs[0].credit == 6


def test_what_is_left_of_blocks_taken_together_keeps_their_buffers() -> None:
    pair = Pair(1, exclusive=3, floating=0, segment_bytes=4096)
    for number in range(3):
        pair.outs[0].send([columns(number)])
    pair.transfer()
    (channel,) = pair.ins
    channel.take()
    channel.put_back([columns(2)])
    assert channel.used_buffers == 3
    assert contents(processed(channel)[1]) == [[2]]
    pair.transfer()
    pair.transfer()
    assert (channel.used_buffers, pair.outs[0].credit) == (0, 3)


def test_long_blocks_of_columns_are_taken_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("funke.engine.runtime.pipelined.channels._MOST_BYTES_AT_ONCE", 1000)
    pair = Pair(1, exclusive=3, floating=0, segment_bytes=4096)
    for number in range(3):
        pair.outs[0].send([columns(*range(number, number + 100))])
    pair.transfer()
    assert [len(contents(processed(pair.ins[0])[1])[0]) for _ in range(3)] == [100] * 3


def pressed_by_a_stall(exclusive: int, floating: int, blocks: int) -> list[int]:
    """How full and free change places while a receiver stands still for some blocks, and then takes all of them."""
    pair = Pair(1, exclusive, floating)
    changes: list[int] = []
    pair.outs[0].on_full = changes.append
    for number in range(blocks):
        pair.outs[0].send([RecordsPart([number], None)])
    for _ in range(2 * blocks):
        pair.transfer()
        if pair.ins[0].queue:
            processed(pair.ins[0])
    assert not pair.outs[0].queue
    return changes


def test_many_buffers_absorb_a_short_stall_and_few_press_back_at_once() -> None:
    assert pressed_by_a_stall(exclusive=10, floating=0, blocks=8) == []
    assert pressed_by_a_stall(exclusive=2, floating=0, blocks=8) == [1, -1], "until the stall is over"
    assert pressed_by_a_stall(exclusive=10, floating=0, blocks=30) == [1, -1], "none are enough for a long one"
    # A slot that stands still grants nothing, so that those that all channels share come too late.
    assert pressed_by_a_stall(exclusive=2, floating=8, blocks=8) == [1, -1]


def test_who_uses_which_buffers() -> None:
    pair = Pair(2, exclusive=2, floating=4)
    for number in range(9):
        pair.outs[0].send([RecordsPart([number], None)])
        pair.transfer()
    processed(pair.ins[0])
    for _ in range(4):
        pair.transfer()
    assert (pair.ins[0].used_buffers, pair.ins[0].used_exclusive, pair.pool.free) == (6, 2, 0)
    assert (pair.ins[1].used_buffers, pair.ins[1].used_exclusive) == (0, 0)
    assert pair.ins[0].buffers_on_their_way > 6, "some wait at the sender"
    for _ in range(8):
        processed(pair.ins[0])
        pair.transfer()
        pair.transfer()
    assert (pair.ins[0].used_buffers, pair.ins[0].used_exclusive, pair.pool.free) == (0, 0, 4)


def test_a_size_is_announced_with_or_without_credit() -> None:
    pair = Pair(1, exclusive=1, floating=0)
    announced: list[int] = []
    pair.outs[0].on_announced = announced.append
    pair.ins[0].announce(500)
    pair.transfer()
    pair.outs[0].send([RecordsPart([1], None)])
    pair.transfer()
    processed(pair.ins[0])
    pair.ins[0].announce(100_000)
    pair.transfer()
    assert (announced, pair.outs[0].credit) == ([500, 100_000], 1)


def test_records_for_the_same_slot_are_no_longer_the_senders() -> None:
    target = InChannel(0, 0, 0, BufferPool(0), 1, SEGMENT)
    record = {"count": 1}
    LocalOut(target, 4).send([RecordsPart([record], None)])
    record["count"] = 2
    assert target.take()[1] == [RecordsPart([{"count": 1}], None)]


def test_a_block_takes_its_buffer_until_all_of_it_is_processed() -> None:
    pair = Pair(1, exclusive=1, floating=0)
    pair.outs[0].send([RecordsPart([1, 2, 3], None)])
    pair.transfer()
    for left in ([2, 3], [3]):
        assert pair.ins[0].take()[1][0].values == [left[0] - 1, *left]
        pair.ins[0].put_back([RecordsPart(left, None)])
        pair.transfer()
        assert (pair.outs[0].credit, pair.ins[0].used_buffers) == (0, 1)
    processed(pair.ins[0])
    pair.transfer()
    assert (pair.outs[0].credit, pair.ins[0].used_buffers) == (1, 0)


def test_what_comes_from_a_checkpoint_takes_no_buffer() -> None:
    pair = Pair(1, exclusive=1, floating=0)
    pair.ins[0].restore([encode_block([RecordsPart([1], None)]), encode_block([RecordsPart([2], None)])])
    assert [processed(pair.ins[0])[1] for _ in range(2)] == [[RecordsPart([1], None)], [RecordsPart([2], None)]]
    pair.transfer()
    assert pair.outs[0].credit == 1
