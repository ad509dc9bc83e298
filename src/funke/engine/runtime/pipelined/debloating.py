"""Buffer debloating: how much may be on its way to a subtask follows from the rate at which it takes it.

A receiver measures how fast it takes its input and tells its senders how long their blocks may be, so that all that is
on its way can be consumed in a given time. The number of buffers, and with it credit, stays as it is: whatever is
announced, every channel can send.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from funke.engine.runtime.pipelined.channels import InChannel
from funke.engine.runtime.pipelined.network_settings import DebloatSettings

__all__ = ["BlockSize", "Debloater"]


class BlockSize:
    """The size that is announced: an average over the sizes that the samples ask for."""

    def __init__(self, settings: DebloatSettings, most_bytes: int) -> None:
        self._settings = settings
        self._most = most_bytes
        self._weight = 2 / (settings.samples + 1)
        self.bytes = settings.first_bytes
        self._mean = float(self.bytes)

    def learn(self, rate: float, buffers: int) -> bool:
        """Takes a rate (bytes per second) and the buffers that are in use; whether there is a size to announce."""
        target = rate * self._settings.target_s / max(1, buffers)
        # The buffer grows as slowly as it shrinks, however much could be taken.
        self._mean += self._weight * (min(target, 2 * self._mean) - self._mean)
        self._mean = max(self._settings.least_bytes, min(self._mean, self._most))
        size = round(self._mean)
        if not self._is_change(size):
            return False
        self.bytes = size
        return True

    def _is_change(self, size: int) -> bool:
        if size == self.bytes:
            return False
        is_at_an_end = size in (self._settings.least_bytes, self._most)
        return is_at_an_end or abs(size - self.bytes) >= self._settings.threshold * self.bytes


class Debloater:
    """Measures one subtask, and tells its senders.

    The time that counts is the one in which the subtask had something to take, also while those behind it had no room
    or another subtask of the slot had its turn: then too what is on its way takes that long.
    """

    def __init__(
        self,
        settings: DebloatSettings,
        most_bytes: int,
        channels: Sequence[InChannel],
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._channels = channels
        self._size = BlockSize(settings, most_bytes)
        self._clock = clock
        self._rate = 0.0
        self._taken_bytes = 0
        self._sampled_at = clock()
        # It has nothing to take since then.
        self._idle_since: float | None = self._sampled_at
        self._idle_s = 0.0

    def wake(self) -> None:
        """There is something to take."""
        if self._idle_since is not None:
            self._idle_s += self._clock() - self._idle_since
            self._idle_since = None

    def rest(self) -> None:
        """All that came is processed."""
        self._idle_since = self._clock()

    def sample(self) -> None:
        """Looks at what was taken since the last time; without anything a sample goes on."""
        taken_bytes = sum(channel.taken_bytes for channel in self._channels)
        now = self._clock()
        idle_s = self._idle_s + (0.0 if self._idle_since is None else now - self._idle_since)
        active_s = now - self._sampled_at - idle_s
        if taken_bytes == self._taken_bytes or active_s <= 0:
            return
        self._rate = (taken_bytes - self._taken_bytes) / active_s
        self._taken_bytes, self._sampled_at, self._idle_s = taken_bytes, now, 0.0
        if self._idle_since is not None:
            self._idle_since = now
        if self._size.learn(self._rate, sum(channel.buffers_on_their_way for channel in self._channels)):
            for channel in self._channels:
                channel.announce(self._size.bytes)

    def metrics(self) -> dict[str, float]:
        """Under Flink's names."""
        waiting = sum(channel.bytes_on_their_way(self._size.bytes) for channel in self._channels)
        return {
            "estimatedTimeToConsumeBuffersMs": 1000 * waiting / self._rate if self._rate else 0.0,
            "debloatedBufferSize": self._size.bytes,
        }
