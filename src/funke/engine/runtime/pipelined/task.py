"""A subtask as the slot's loop drives it: its channels, the alignment of barriers, the end of its input."""

from __future__ import annotations

import pickle
import time
from collections import deque
from typing import Any

from funke.engine.runtime.pipelined.channels import BufferPool, InChannel, OutChannel
from funke.engine.runtime.pipelined.connection import BARRIER, END, PROBE
from funke.engine.runtime.pipelined.messages import TakeCheckpoint
from funke.engine.runtime.subtasks import Subtask

__all__ = ["Task"]


class Task:
    """Takes blocks from its channels as long as those behind it have room."""

    def __init__(self, subtask: Subtask, pool: BufferPool, channel_buffers: int) -> None:
        self.subtask = subtask
        self.pool = pool
        self._buffers = channel_buffers
        self.ins: list[InChannel] = []
        self.outs: list[OutChannel] = []
        # Channels with something to take.
        self._ready: deque[InChannel] = deque()
        self._full = 0
        self._full_since = self._measured_at = time.perf_counter()
        self._pressed_s = 0.0
        self._ended = 0
        # The checkpoint whose barrier has come on some channels, or on all of them.
        self._aligning: TakeCheckpoint | None = None
        self._missing = 0
        # Its barrier has been sent: nothing is taken before the slot's state is captured.
        self.is_held = False
        # All its input has ended; it ends when it is done with it.
        self.is_ending = self.has_ended = False
        self._probes = 0
        # A probe has come on all channels, or this is a source that is to send one.
        self.is_probed = False
        # Something came in since sinks and routers were last flushed, and since event time was last looked after.
        self.is_dirty = self.has_news = False

    def add_input(self, channel: InChannel) -> None:
        channel.on_ready = self._ready.append
        self.ins.append(channel)

    def add_output(self, channel: OutChannel) -> None:
        channel.on_full = self._on_full
        self.outs.append(channel)

    def _on_full(self, change: int) -> None:
        was_full = self._full > 0
        self._full += change
        if (self._full > 0) is not was_full:
            now = time.perf_counter()
            if was_full:
                self._pressed_s += now - self._full_since
            self._full_since = now

    def measure(self) -> dict[str, float]:
        """Flink's metrics of a task: how it has spent the time since they were last asked for, and what waits.

        The subtasks of a slot take turns, so that one is idle also while another is busy.
        """
        now = time.perf_counter()
        if self._full > 0:
            self._pressed_s += now - self._full_since
            self._full_since = now
        busy_s, pressed_s, period_s = self.subtask.busy_s, self._pressed_s, max(1e-3, now - self._measured_at)
        self.subtask.busy_s, self._pressed_s, self._measured_at = 0.0, 0.0, now
        busy, pressed = (min(1000.0, 1000 * spent_s / period_s) for spent_s in (busy_s, pressed_s))
        return {
            "busyTimeMsPerSecond": busy,
            "backPressuredTimeMsPerSecond": min(pressed, 1000.0 - busy),
            "idleTimeMsPerSecond": max(0.0, 1000.0 - busy - pressed),
            "inPoolUsage": min(1.0, self.queued / max(1, self._buffers * len(self.ins) + self.pool.size)),
            "outPoolUsage": min(1.0, sum(channel.queued for channel in self.outs) / max(1, len(self.outs))),
        }

    @property
    def has_room(self) -> bool:
        """Whether nobody behind it is behind with its work."""
        return self._full == 0

    @property
    def has_input(self) -> bool:
        """Whether a block can be taken."""
        return bool(self._ready) and not self.is_held

    @property
    def queued(self) -> int:
        """How many blocks wait."""
        return sum(channel.buffers for channel in self.ins)

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
        """A source sends its barrier."""
        self._aligning = taking

    def on_barrier(self, channel: InChannel, payload: bytes, aborted: set[int]) -> TakeCheckpoint | None:
        """A barrier has come; the checkpoint, once it has come on all channels."""
        taking: TakeCheckpoint = pickle.loads(payload)
        number = taking.order.checkpoint_id
        known = -1 if self._aligning is None else self._aligning.order.checkpoint_id
        if number in aborted or number < known:
            self._unblock(channel)
            return None
        if number > known > -1:
            # Its sender has heard that the one before was given up, which is not known here yet.
            self.release()
            channel.is_blocked = True
        if self._aligning is None:
            self._aligning, self._missing = taking, len(self.ins) - self._ended
        self._missing -= 1
        return taking if self._missing == 0 else None

    @property
    def aligning(self) -> TakeCheckpoint | None:
        """The checkpoint whose barriers are on their way."""
        return self._aligning

    def send_barrier(self, taking: TakeCheckpoint) -> None:
        """Behind everything that was sent before."""
        self.subtask.flush()
        payload = pickle.dumps(taking, 5)
        for channel in self.outs:
            channel.send_mark(BARRIER, payload)
        self.is_held = True

    def release(self) -> None:
        """The checkpoint is captured, or given up."""
        self._aligning = None
        self.is_held = False
        for channel in self.ins:
            if channel.is_blocked:
                self._unblock(channel)

    def _unblock(self, channel: InChannel) -> None:
        channel.is_blocked = False
        if channel.queue:
            self._ready.append(channel)

    # The end

    def on_probe(self) -> None:
        """A probe has come on a channel; what is behind it may be taken before it has come on the others."""
        self._probes = (self._probes + 1) % len(self.ins)
        self.is_probed = self._probes == 0

    def pass_probe(self) -> bool:
        """Sends the probe on, behind everything that was sent before; not while records are still worked on."""
        chain = self.subtask.chain
        chain.end_epoch()
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
