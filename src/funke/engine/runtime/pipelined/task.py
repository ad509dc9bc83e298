"""A subtask as the slot's loop drives it: its channels, the alignment of barriers, the end of its input."""

from __future__ import annotations

import pickle
import time
from collections import deque
from typing import Any

from funke.engine.runtime.pipelined.alignment import Alignment
from funke.engine.runtime.pipelined.channels import BufferPool, InChannel, OutChannel
from funke.engine.runtime.pipelined.connection import BARRIER, END, PROBE
from funke.engine.runtime.pipelined.debloating import Debloater
from funke.engine.runtime.pipelined.messages import TakeCheckpoint
from funke.engine.runtime.pipelined.network_settings import NetworkSettings
from funke.engine.runtime.slots.subtasks import Subtask
from funke.engine.runtime.snapshots.checkpoint_command import AlignmentStatistics

__all__ = ["Task"]

# So often at most how it spends its time is noted.
_MEASURE_S = 0.5
# A subtask that has not been through with its input for so long is behind by more than buffers would take.
_BEHIND_S = 0.1


class Task:
    """Takes blocks from its channels as long as those behind it have room."""

    def __init__(self, subtask: Subtask, network: NetworkSettings, floating: int | None = None) -> None:
        """`floating` are the buffers of its own that no channel has; as many as are configured if left out."""
        self.subtask = subtask
        self.pool = BufferPool(network.floating_buffers if floating is None else floating)
        self._buffers = network.channel_buffers
        self.ins: list[InChannel] = []
        self.outs: list[OutChannel] = []
        # Channels with something to take.
        self._ready: deque[InChannel] = deque()
        self._debloater: Debloater | None = None
        if network.debloat is not None and subtask.source is None:
            self._debloater = Debloater(network.debloat, network.segment_bytes, self.ins)
        self._full = 0
        self._full_since = self._began = time.perf_counter()
        self._busy_s = self._pressed_s = 0.0
        # Those of the same slot that its records come to.
        self.downstream: tuple[Task, ...] = ()
        # When it was last through with its input, and how long others downstream had worked when that was last noted.
        self._idle_at = self._began
        self._downstream_s = self._pressed_noted_s = 0.0
        self._is_waiting = False
        self._measured_s = network.measured_s
        # When it was measured, and how long it had been busy and pressed back by then; the oldest first.
        self._measured: deque[tuple[float, float, float]] = deque([(self._full_since, 0.0, 0.0)])
        self._ended = 0
        # Checkpoints whose barriers have come on some channels, or on all of them, by number: more than one only where
        # barriers block no channels.
        self._alignments: dict[int, Alignment] = {}
        # Its barrier has been sent: nothing is taken before the slot's state is captured.
        self.is_held = False
        # All its input has ended; it ends when it is done with it.
        self.is_ending = self.has_ended = False
        self._probes = 0
        # A probe has come on all channels, or this is a source that is to send one.
        self.is_probed = False
        # Something came in since sinks and routers were last flushed, and since event time was last looked after.
        self.is_dirty = self.has_open_epoch = False

    def add_input(self, channel: InChannel) -> None:
        channel.on_ready = self._add_ready if self._debloater is not None else self._ready.append
        self.ins.append(channel)

    def add_output(self, channel: OutChannel) -> None:
        channel.on_full = self._on_full
        self.outs.append(channel)

    def send_credit(self) -> None:
        """Tells senders what has become free, and how long blocks may be."""
        for channel in self.pool.granting:
            channel.send_credit()
        self.pool.granting.clear()

    def _on_full(self, change: int) -> None:
        was_full = self._full > 0
        self._full += change
        if (self._full > 0) is not was_full:
            now = time.perf_counter()
            if was_full:
                self._pressed_s += now - self._full_since
            self._full_since = now

    def measure(self) -> dict[str, float]:
        """Flink's metrics of a task: how it has spent the last seconds, and what waits.

        The subtasks of a slot take turns: one that waits while another works is pressed back if that one is
        downstream, and idle otherwise.
        """
        busy, pressed = self._spent()
        spent_ms = 1000 * (time.perf_counter() - self._began)
        # Records that stay in their slot are not encoded, and have no size.
        counted = {
            "numBytesIn": sum(channel.received_bytes for channel in self.ins),
            "numBytesOut": sum(channel.sent_bytes for channel in self.outs),
        }
        exclusive, floating = self._buffers * len(self.ins), self.pool.size
        return {
            **self.subtask.rates.with_rates(None, counted),
            "accumulateBusyTimeMs": 1000 * self._busy_s,
            "accumulateBackPressuredTimeMs": 1000 * self._pressed_s,
            "accumulateIdleTimeMs": max(0.0, spent_ms - 1000 * (self._busy_s + self._pressed_s)),
            "busyTimeMsPerSecond": busy,
            "backPressuredTimeMsPerSecond": min(pressed, 1000.0 - busy),
            "idleTimeMsPerSecond": max(0.0, 1000.0 - busy - pressed),
            "isBackPressured": self.is_back_pressured,
            "inPoolUsage": _share(sum(channel.used_buffers for channel in self.ins), exclusive + floating),
            "exclusiveBuffersUsage": _share(sum(channel.used_exclusive for channel in self.ins), exclusive),
            "floatingBuffersUsage": _share(floating - self.pool.free, floating),
            "outPoolUsage": _share(sum(channel.queued for channel in self.outs), len(self.outs)),
            **({} if self._debloater is None else self._debloater.metrics()),
        }

    def _spent(self) -> tuple[float, float]:
        """Busy and pressed back, in milliseconds per second."""
        now = time.perf_counter()
        self._note_full(now)
        self._busy_s += self.subtask.busy_s
        self.subtask.busy_s = 0.0
        measured = self._measured
        while len(measured) > 1 and now - measured[1][0] >= self._measured_s:
            measured.popleft()
        since, busy_s, pressed_s = measured[0]
        # A source reports whenever it has read a split.
        if now - measured[-1][0] >= min(_MEASURE_S, self._measured_s):
            measured.append((now, self._busy_s, self._pressed_s))
        period_s = max(1e-3, now - since)
        return min(1000.0, 1000 * (self._busy_s - busy_s) / period_s), 1000 * (self._pressed_s - pressed_s) / period_s

    def note_waiting(self) -> None:
        """Counts the time for which it could have worked, and those downstream had the thread, as backpressure.

        With threads of their own, as in Flink, its outputs would be full meanwhile.
        """
        if not self.downstream:
            return
        now, worked_s = time.perf_counter(), sum(task.busy_s for task in self.downstream)
        self._note_full(now)
        if self._full == 0:
            # Also while it is held: it waits until those downstream have come to the barrier.
            has_work = bool(self._ready) if self.subtask.source is None else self.subtask.source.is_reading
            self._idle_at = self._idle_at if has_work else now
            self._is_waiting = now - self._idle_at >= _BEHIND_S
            if self._is_waiting:
                # Some of that time its outputs may have been full, which counts already.
                full_s = self._pressed_s - self._pressed_noted_s
                self._pressed_s += max(0.0, worked_s - self._downstream_s - full_s)
        self._downstream_s, self._pressed_noted_s = worked_s, self._pressed_s

    def _note_full(self, now: float) -> None:
        if self._full > 0:
            self._pressed_s += now - self._full_since
            self._full_since = now

    @property
    def busy_s(self) -> float:
        """How long it has worked."""
        return self._busy_s + self.subtask.busy_s

    def worked(self, since: float) -> None:
        """It has been busy since then."""
        now = time.perf_counter()
        self.subtask.busy_s += now - since
        if self._debloater is not None and not self._ready:
            self._debloater.rest()

    def debloat(self) -> None:
        """Fits what may be on its way to the rate at which it is taken."""
        if self._debloater is not None:
            self._debloater.sample()

    @property
    def is_back_pressured(self) -> bool:
        """Whether one of those behind it has no room, or works in its stead, while it runs."""
        return (self._full > 0 or self._is_waiting) and not self.has_ended

    @property
    def has_room(self) -> bool:
        """Whether all its receivers have room."""
        return self._full == 0

    @property
    def has_input(self) -> bool:
        """Whether a block can be taken."""
        return bool(self._ready) and not self.is_held

    def _add_ready(self, channel: InChannel) -> None:
        if self._debloater is not None and not self._ready:
            self._debloater.wake()
        self._ready.append(channel)

    def take(self) -> tuple[InChannel, int, Any]:
        """The next block; channels take turns."""
        ready = self._ready
        channel = ready.popleft()
        kind, content = channel.take()
        if kind == BARRIER:
            channel.is_blocked = True
        elif channel.queue:
            ready.append(channel)
        return channel, kind, content

    # Barriers

    def begin(self, taking: TakeCheckpoint) -> None:
        """A source sends its barrier, or one has overtaken everything."""
        self._alignments[taking.command.checkpoint_id] = Alignment(taking, 0, self._taken_bytes)

    def on_barrier(self, channel: InChannel, payload: bytes, aborted: set[int]) -> TakeCheckpoint | None:
        """A barrier has come; the checkpoint, once it has come on all channels."""
        taking: TakeCheckpoint = pickle.loads(payload)
        number, is_blocking = taking.command.checkpoint_id, taking.command.is_exactly_once
        newest = max(self._alignments, default=-1)
        if number in aborted or (is_blocking and number < newest):
            self._unblock(channel)
            return None
        if not is_blocking:
            self._unblock(channel)
        elif number > newest > -1:
            # Its sender has heard that the one before was given up, which is not known here yet.
            self.release(newest)
            channel.is_blocked = True
        if number not in self._alignments:
            self._alignments[number] = Alignment(taking, len(self.ins) - self._ended, self._taken_bytes)
        alignment = self._alignments[number]
        alignment.missing -= 1
        return taking if alignment.missing == 0 else None

    @property
    def aligning(self) -> TakeCheckpoint | None:
        """The oldest checkpoint whose barriers are on their way, or have come."""
        return self._alignments[min(self._alignments)].taking if self._alignments else None

    @property
    def _taken_bytes(self) -> int:
        return sum(channel.taken_bytes for channel in self.ins)

    def hold(self) -> None:
        """Everything before the barrier is sent; nothing is taken until the slot's state is captured.

        Also at least once: what this subtask took now would be in its state, and not in that of the subtasks behind it.
        """
        self.subtask.flush()
        self.is_held = True

    def send_barrier(self, taking: TakeCheckpoint) -> None:
        """Behind everything that was sent before."""
        self.hold()
        self._alignments[taking.command.checkpoint_id].complete(self._taken_bytes)
        payload = pickle.dumps(taking, 5)
        for channel in self.outs:
            channel.send_mark(BARRIER, payload)

    def end_alignment(self, number: int) -> AlignmentStatistics:
        """How the barriers of a checkpoint that is captured now have come."""
        alignment = self._alignments[number]
        if alignment.taking.command.is_unaligned:
            alignment.complete(self._taken_bytes)
        return alignment.statistics(self.subtask.vertex.id, self.subtask.index)

    def release(self, number: int) -> None:
        """A checkpoint is captured, or given up."""
        if number == min(self._alignments, default=None):
            self.is_held = False
            for channel in self.ins:
                if channel.is_blocked:
                    self._unblock(channel)
        self._alignments.pop(number, None)

    def give_up(self, aborted: set[int]) -> None:
        """Forgets the checkpoints among those whose barriers are on their way."""
        for number in aborted.intersection(self._alignments):
            self.release(number)

    def _unblock(self, channel: InChannel) -> None:
        channel.is_blocked = False
        if channel.queue:
            self._add_ready(channel)

    # The end

    def on_probe(self) -> None:
        """A probe has come on a channel; what is behind it may be taken before it has come on the others."""
        self._probes = (self._probes + 1) % len(self.ins)
        self.is_probed = self._probes == 0

    def pass_probe(self) -> bool:
        """Sends the probe on, behind everything that was sent before; not while records are still worked on."""
        chain = self.subtask.chain
        chain.end_epoch()
        chain.release_waiting()
        self.is_probed = chain.has_unfinished
        if self.is_probed:
            return False
        self.subtask.flush()
        for channel in self.outs:
            channel.send_mark(PROBE, b"")
        return True

    def on_end(self) -> bool:
        """A channel has ended; whether all have."""
        self._ended += 1
        return self._ended == len(self.ins)

    def end(self) -> None:
        """Ends the input of the operators and tells those behind."""
        chain = self.subtask.chain
        chain.end_input()
        chain.end_epoch()
        chain.close()
        self.subtask.flush()
        for channel in self.outs:
            channel.send_mark(END, b"")
        self.has_ended = True


def _share(used: int, of: int) -> float:
    return min(1.0, used / max(1, of))
