"""The failover regions of a streaming job: one runner for each, as if they were one; some may be restarting."""

from __future__ import annotations

import contextlib
import select
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from funke.engine.planner.regions import Region
from funke.engine.runtime.epochs.delivery import lost_slot
from funke.engine.runtime.monitoring.flame_samples import SampleCommand, SampledStack
from funke.engine.runtime.pipelined.stream_runner import StreamRunner
from funke.engine.runtime.slots.slot_address import SlotAddress
from funke.engine.trust.credentials import Credentials

__all__ = ["RegionRunners"]


class RegionRunners:
    """Passes on what is for a slot to the runner of its region; what is for a region that restarts is dropped."""

    def __init__(self, regions: tuple[Region, ...], create: Callable[[Region], StreamRunner]) -> None:
        self._region_of = {slot: region.number for region in regions for slot in region.slots}
        self._runners: dict[int, StreamRunner] = {}
        # Those that are being deployed: only their own thread sends them commands.
        self._starting: set[StreamRunner] = set()
        self._is_closing = False
        self._lock = threading.Lock()
        self._waking, self._woken = socket.socketpair()
        self._waking.setblocking(False)
        self._woken.setblocking(False)
        try:
            for region in regions:
                self._runners[region.number] = create(region)
        except BaseException:
            self.close()
            raise

    @property
    def addresses(self) -> dict[int, SlotAddress]:
        """Where the slots are that run."""
        return {slot: address for runner in self._live() for slot, address in list(runner.addresses.items())}

    @property
    def hosts(self) -> dict[int, str]:
        """The hosts of these slots."""
        return {slot: address.host for slot, address in self.addresses.items()}

    def _live(self) -> list[StreamRunner]:
        return list(self._runners.values())

    def deploy(self) -> None:
        """Starts all slots of all regions, side by side."""
        runners = self._live()
        with ThreadPoolExecutor(len(runners), "funke-regions") as starting:
            deployed = [starting.submit(runner.deploy) for runner in runners]
            try:
                for each in deployed:
                    each.result()
            except BaseException:
                self.close()
                raise

    # Restarting

    def retire(self, region: int) -> StreamRunner | None:
        """A region has failed: its slots are not heard any more, and its runner, if it has one, is for the caller."""
        return self._runners.pop(region, None)

    @contextlib.contextmanager
    def starting(self, runner: StreamRunner) -> Iterator[None]:
        """While a runner is deployed: it is closed with the others."""
        with self._lock:
            self._starting.add(runner)
            is_closing = self._is_closing
        if is_closing:
            runner.close()
        try:
            yield
        finally:
            with self._lock:
                self._starting.discard(runner)

    def adopt(self, region: int, runner: StreamRunner) -> None:
        """A region runs again."""
        self._runners[region] = runner
        if self._is_closing:
            runner.close()

    # Talking

    def region_of(self, slot: int) -> int:
        """The region that a slot belongs to."""
        return self._region_of[slot]

    def wake(self) -> None:
        """Ends a wait for messages; from any thread."""
        with contextlib.suppress(OSError):
            self._woken.send(b"\0")

    def send(self, slot: int, message: Any) -> None:
        """Tells a slot something; it leaves with the next `receive`."""
        runner = self._runners.get(self._region_of[slot])
        if runner is not None:
            runner.send(slot, message)

    def send_all(self, message: Any) -> None:
        """Tells all slots that run."""
        for runner in self._live():
            runner.send_all(message)

    def access(self, slot: int) -> tuple[SlotAddress, Credentials]:
        """What a call to a slot needs; from any thread."""
        return self._running(slot).access(slot)

    def sample(self, slot: int, command: SampleCommand) -> tuple[SampledStack, ...]:
        """What a slot does, seen so many times."""
        return self._running(slot).sample(slot, command)

    def _running(self, slot: int) -> StreamRunner:
        runner = self._runners.get(self._region_of[slot])
        if runner is None:
            raise ConnectionError(f"slot {slot} is restarting")
        return runner

    def receive(self, wait_s: float) -> Iterator[tuple[int, Any]]:
        """What slots have said, after at most so long; a slot that is gone says a Failure."""
        self.flush()
        if any(runner.has_received for runner in self._live()):
            wait_s = 0.0
        poll = select.poll()
        poll.register(self._waking, select.POLLIN)
        for runner in self._live():
            poll.register(runner, select.POLLIN)
        poll.poll(wait_s * 1000)
        with contextlib.suppress(BlockingIOError):
            self._waking.recv(1 << 12)
        for runner in self._live():
            try:
                yield from runner.receive(0.0)
            except Exception as failure:
                if failure is not runner.spark_failure or all(each.spark_failure for each in self._live()):
                    raise
                # Spark has ended the tasks of this region alone, with their executor, before a slot was missed.
                yield from [(slot, lost_slot(address, failure)) for slot, address in runner.addresses.items()]

    def flush(self) -> None:
        """Sends pending messages to slots, as far as their connections have room."""
        for runner in self._live():
            runner.flush()

    # Ending

    def cancel(self) -> None:
        """Ends the slots, from any thread."""
        self.close()

    def close(self) -> None:
        """Ends all slots and waits until they are gone, and Spark's jobs with them."""
        with self._lock:
            self._is_closing = True
            runners = [*self._runners.values(), *self._starting]
        if runners:
            with ThreadPoolExecutor(len(runners), "funke-regions") as closing:
                list(closing.map(StreamRunner.close, runners))
