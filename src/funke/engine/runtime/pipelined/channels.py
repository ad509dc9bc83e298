"""Channels between subtasks, with credit: nothing is sent that the receiver has not promised to take.

A receiver has buffers of its own for every channel, and some more for those with a backlog. A block takes one buffer (a
long one several) from its sending until it has been processed. A sender without credit waits, and so does the
subtask that feeds it: a slow subtask slows exactly those before it.
"""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from funke.engine.operators.block_parts import ColumnsPart, Part, RecordsPart, with_joined_columns
from funke.engine.operators.record_copy import ResultGuard, copies_of
from funke.engine.runtime.blocks.block_codec import decode_block, encode_block
from funke.engine.runtime.pipelined.connection import BLOCK, CREDIT, REST, Connection

__all__ = ["BufferPool", "InChannel", "LocalOut", "OutChannel", "RemoteOut"]

# Of blocks that are taken together.
_MOST_BYTES_AT_ONCE = 1 << 17


class BufferPool:
    """The buffers of one receiving subtask that no channel owns."""

    def __init__(self, floating: int) -> None:
        self.free = floating
        self.size = floating
        # Channels whose senders have more than they may send.
        self.wanting: deque[InChannel] = deque()
        # Channels with something to tell their senders: few of thousands.
        self.granting: list[InChannel] = []

    def give_back(self, buffers: int) -> None:
        """Buffers that are free again go to those who want them."""
        self.free += buffers
        while self.free > 0 and self.wanting:
            channel = self.wanting.popleft()
            channel.is_wanting = False
            channel.borrow()


class InChannel:
    """The receiving end: blocks that wait to be processed."""

    __slots__ = (
        "_announced",
        "_backlog",
        "_borrowed",
        "_connection",
        "_exclusive",
        "_pool",
        "_processing",
        "_promised",
        "_segment_bytes",
        "_to_grant",
        "exchange_id",
        "is_blocked",
        "is_wanting",
        "number",
        "on_announced",
        "on_ready",
        "on_taken",
        "queue",
        "taken_bytes",
        "upstream",
    )

    def __init__(
        self, number: int, exchange_id: int, upstream: int, pool: BufferPool, exclusive: int, segment_bytes: int
    ) -> None:
        self.number = number
        self.exchange_id = exchange_id
        self.upstream = upstream
        self.queue: deque[tuple[int, Any, int]] = deque()
        # Its barrier has come: what follows belongs behind the checkpoint.
        self.is_blocked = False
        self.is_wanting = False
        self.on_ready: Callable[[InChannel], None] = lambda channel: None
        # Of a sender in the same slot, which needs no credit to see that there is room.
        self.on_taken: Callable[[], None] | None = None
        self.on_announced: Callable[[int], None] = lambda size: None
        self.taken_bytes = 0
        self._connection: Connection | None = None
        self._pool = pool
        self._segment_bytes = segment_bytes
        self._exclusive = exclusive
        # Buffers of the pool that this channel has.
        self._borrowed = 0
        # What the sender may send and has not sent yet, as far as is known here.
        self._promised = exclusive
        self._backlog = 0
        # The size of what is being processed.
        self._processing = 0
        self._to_grant = 0
        # The block size that the sender has not been sent yet.
        self._announced: int | None = None

    def connect(self, connection: Connection) -> None:
        """Blocks come over a connection, on which credit is granted."""
        self._connection = connection

    @property
    def received_bytes(self) -> int:
        """Bytes of blocks from other slots that were taken."""
        return 0 if self._connection is None else self.taken_bytes

    @property
    def buffers(self) -> int:
        """How many blocks wait."""
        return len(self.queue)

    @property
    def used_buffers(self) -> int:
        """How many buffers the blocks take that wait; those of the same slot take one each."""
        if self._connection is None:
            return len(self.queue)
        return sum(self._buffers_of(size) for _, _, size in self.queue)

    @property
    def used_exclusive(self) -> int:
        """How many of its own buffers are taken; blocks go into borrowed ones first."""
        return 0 if self._connection is None else max(0, self._exclusive - max(0, self._promised))

    @property
    def buffers_on_their_way(self) -> int:
        """How many buffers the blocks take that wait, here and as far as is known at the sender."""
        return self.used_buffers + self._backlog

    def bytes_on_their_way(self, block_bytes: int) -> int:
        """The same in bytes; blocks of the sender count as full."""
        return sum(size for _, _, size in self.queue) + self._backlog * block_bytes

    def put(self, kind: int, content: Any, size: int, backlog: int = 0) -> None:
        """Takes a block; those that are local come as they are, the others encoded."""
        queue = self.queue
        queue.append((kind, content, size))
        if self._connection is not None:
            self._promised -= self._buffers_of(size)
            self._backlog = backlog
            if backlog > 0:
                self.borrow()
        if len(queue) == 1 and not self.is_blocked:
            self.on_ready(self)

    def take(self) -> tuple[int, Any]:
        """The next block, which takes its buffer until it has been processed; that of a mark is free.

        Short blocks of columns that wait behind it are taken with it: operators cost about as much for ten rows as for
        a thousand.
        """
        kind, content, size = self.queue.popleft()
        if kind not in (BLOCK, REST):
            self._free_buffers(size)
            self.taken_bytes += size
            return kind, content
        parts, taken_size = self._parts_of(kind, content, size), size
        if not self._has_next(taken_size) or not any(isinstance(part, ColumnsPart) for part in parts):
            self._processing = size
            return BLOCK, parts
        parts, size = [*parts], self._whole_buffers(size)
        while self._has_next(taken_size):
            kind, content, more = self.queue.popleft()
            parts += self._parts_of(kind, content, more)
            taken_size += more
            # They are given back together.
            size += self._whole_buffers(more)
        self._processing = size
        return BLOCK, with_joined_columns(parts)

    def _has_next(self, taken_size: int) -> bool:
        """Whether the next block can be taken with so many bytes."""
        return bool(self.queue) and self.queue[0][0] == BLOCK and taken_size + self.queue[0][2] <= _MOST_BYTES_AT_ONCE

    def _parts_of(self, kind: int, content: Any, size: int) -> list[Part]:
        if kind == BLOCK:
            self.taken_bytes += size
        is_encoded = kind == BLOCK and self._connection is not None
        return decode_block(content) if is_encoded else content

    def _whole_buffers(self, size: int) -> int:
        # What comes from a checkpoint has no buffer, and no size.
        return -(-size // self._segment_bytes) * self._segment_bytes

    def processed(self) -> None:
        """The buffers of what was taken last are free."""
        size, self._processing = self._processing, 0
        if size or self._connection is None:
            self._free_buffers(size)

    def _free_buffers(self, size: int) -> None:
        if self._connection is not None:
            self._free(self._buffers_of(size))
        elif self.on_taken is not None:
            self.on_taken()

    def put_back(self, parts: list[Part]) -> None:
        """What is left of what was taken last is taken next."""
        size, self._processing = self._processing, 0
        self.queue.appendleft((REST, parts, size))
        if len(self.queue) == 1 and not self.is_blocked:
            self.on_ready(self)

    def restore(self, blocks: list[bytes]) -> None:
        """What a checkpoint has overtaken here comes before everything else."""
        for block in reversed(blocks):
            self.put_back(decode_block(block))

    def waiting_blocks(self, entries: int | None = None) -> Iterator[bytes]:
        """The blocks among the first entries of the queue, encoded."""
        for kind, content, _ in islice(self.queue, entries):
            if kind in (BLOCK, REST):
                yield content if isinstance(content, bytes) else encode_block(content)

    def borrow(self) -> None:
        """Takes buffers from the pool for what the sender has waiting."""
        missing = self._backlog - self._promised
        borrowed = min(missing, self._pool.free)
        if borrowed > 0:
            self._pool.free -= borrowed
            self._borrowed += borrowed
            self._grant(borrowed)
        if missing > borrowed and not self.is_wanting:
            self.is_wanting = True
            self._pool.wanting.append(self)

    def _free(self, buffers: int) -> None:
        returned = min(buffers, self._borrowed)
        self._borrowed -= returned
        if buffers > returned:
            self._grant(buffers - returned)
        if returned:
            self._pool.give_back(returned)

    def _grant(self, buffers: int) -> None:
        if not self._to_grant:
            self._pool.granting.append(self)
        self._to_grant += buffers
        self._promised += buffers

    def _buffers_of(self, size: int) -> int:
        return -(-size // self._segment_bytes) or 1

    def send_credit(self) -> None:
        """Grants what has become free since the last time, and tells how long blocks may be, if that is new."""
        if self._connection is not None and (self._to_grant or self._announced is not None):
            size = b"" if self._announced is None else _SIZE.pack(self._announced)
            self._connection.send(CREDIT, size, self.number, self._to_grant)
            self._to_grant, self._announced = 0, None

    def announce(self, block_bytes: int) -> None:
        """From now on blocks should have no more bytes."""
        if self._connection is None:
            self.on_announced(block_bytes)
        else:
            self._announced = block_bytes
            self._pool.granting.append(self)


class OutChannel:
    """The sending end."""

    def __init__(self) -> None:
        # Called with +1 when it has no room any more, and with -1 when it has again.
        self.on_full: Callable[[int], None] = lambda change: None
        # Called with the most bytes that a block may have from now on.
        self.on_announced: Callable[[int], None] = lambda size: None
        self._is_full = False
        # Of blocks for other slots.
        self.sent_bytes = 0

    @property
    def queued(self) -> int:
        """How many blocks wait for the receiver."""
        return 0

    def send(self, parts: list[Part]) -> int:
        """Sends a block; returns its size, or a guess of it."""
        raise NotImplementedError

    def send_mark(self, kind: int, payload: bytes) -> None:
        """Sends a barrier or the end, behind everything that waits."""
        raise NotImplementedError

    def _set_full(self, is_full: bool) -> None:
        if is_full != self._is_full:
            self._is_full = is_full
            self.on_full(1 if is_full else -1)


class LocalOut(OutChannel):
    """To a subtask of the same slot: records are handed over, copied if another operator could still change them."""

    def __init__(self, target: InChannel, most_blocks: int) -> None:
        super().__init__()
        self._target = target
        self._most = most_blocks
        self._guard = ResultGuard()
        target.on_taken = self._on_taken
        target.on_announced = self._announced

    def send(self, parts: list[Part]) -> int:
        size = 0
        for number, part in enumerate(parts):
            if isinstance(part, RecordsPart):
                size += len(part.values) * _GUESSED_ROW_BYTES
                if self._guard.is_careful:
                    parts[number] = RecordsPart(copies_of(part.values), part.timestamps)
                self._guard.check(part.values)
            elif isinstance(part, ColumnsPart):
                size += len(part.batch) * _GUESSED_COLUMN_ROW_BYTES
        self._target.put(BLOCK, parts, size)
        self._set_full(self._target.buffers >= self._most)
        return size

    def send_mark(self, kind: int, payload: bytes) -> None:
        self._target.put(kind, payload, 0)

    def _announced(self, block_bytes: int) -> None:
        self.on_announced(block_bytes)

    def _on_taken(self) -> None:
        self._set_full(self._target.buffers >= self._most)


class RemoteOut(OutChannel):
    """To a subtask of another slot."""

    def __init__(self, number: int, connection: Connection, credit: int, segment_bytes: int) -> None:
        super().__init__()
        self._number = number
        self._connection = connection
        self._segment_bytes = segment_bytes
        self.credit = credit
        self.queue: deque[tuple[int, bytes]] = deque()

    @property
    def queued(self) -> int:
        return len(self.queue)

    def send(self, parts: list[Part]) -> int:
        payload = encode_block(parts)
        self._put(BLOCK, payload)
        self.sent_bytes += len(payload)
        return len(payload)

    def send_mark(self, kind: int, payload: bytes) -> None:
        self._put(kind, payload)

    def waiting_blocks(self) -> list[bytes]:
        """The blocks for which the receiver has no room yet."""
        return [payload for kind, payload in self.queue if kind == BLOCK]

    def restore(self, blocks: list[bytes]) -> None:
        """What a checkpoint has overtaken here is sent before everything else."""
        for block in blocks:
            self._put(BLOCK, block)

    def grant(self, credit: int, size: bytes = b"") -> None:
        """The receiver can take more, in blocks of a new size if it says one."""
        if size:
            self.on_announced(_SIZE.unpack(size)[0])
        self.credit += credit
        while self.queue and self.credit > 0:
            self._transmit(*self.queue.popleft())
        self._set_full(bool(self.queue))

    def _put(self, kind: int, payload: bytes) -> None:
        if self.credit > 0 and not self.queue:
            self._transmit(kind, payload)
        else:
            self.queue.append((kind, payload))
            self._set_full(True)

    def _transmit(self, kind: int, payload: bytes) -> None:
        self.credit -= -(-len(payload) // self._segment_bytes) or 1
        self._connection.send(kind, payload, self._number, len(self.queue))


# Rows that stay in their slot are never measured.
_GUESSED_ROW_BYTES = 32
_GUESSED_COLUMN_ROW_BYTES = 16
_SIZE = struct.Struct("!I")
