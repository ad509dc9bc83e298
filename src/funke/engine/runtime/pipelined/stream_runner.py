"""A failover region on Spark: one Spark job whose tasks start the slots and stay with them; talks with the slots."""

from __future__ import annotations

import contextlib
import math
import os
import select
import selectors
import shutil
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from funke.engine.errors import SlotLostError, SlotTimeoutError
from funke.engine.planner.plan import Plan
from funke.engine.planner.regions import Region
from funke.engine.runtime.blocks.block_codec import decode, encode
from funke.engine.runtime.epochs.delivery import executor_pid, lost_slot, start_error, start_slot
from funke.engine.runtime.epochs.results import Failure, to_failure
from funke.engine.runtime.monitoring.flame_samples import SampleCommand, SampledStack
from funke.engine.runtime.pipelined.connection import MESSAGE, Connection
from funke.engine.runtime.pipelined.messages import Begin, Born, Ready
from funke.engine.runtime.pipelined.streaming_host import ACCOMPANY
from funke.engine.runtime.slots.fork_server import open_fork_server
from funke.engine.runtime.slots.slot_address import SlotAddress, listen_for_hosts
from funke.engine.runtime.slots.slot_calls import connect, sample
from funke.engine.runtime.slots.worker_setup import ControlAddress, JobDeployment, prepare_spark_worker
from funke.engine.runtime.spark.spark_session import OnSpark, is_embedded
from funke.engine.runtime.spark.spark_tasks import (
    await_task_slots,
    driver_address,
    jvm_pid,
    lack_of_room,
    placed_rdd,
    running_tasks,
    ship_funke,
)
from funke.engine.runtime.starting.executor_archive import make_archive, provide_archive
from funke.engine.trust.credentials import Credentials
from funke.engine.trust.greeter import Greeter
from funke.engine.trust.peers import limit_silence, listen_at
from funke.engine.trust.private_files import make_private_folder
from funke.engine.trust.run_folders import run_folder

if TYPE_CHECKING:
    from pyspark import RDD

__all__ = ["StreamRunner"]

# How long slots may take to start at least, when their tasks run.
_LAUNCH_S = 60.0
_LOOK_S = 0.05
# How long slots may take to end before Spark ends their tasks.
_END_S = 8.0


class StreamRunner:
    """One attempt of a streaming job or of a region: its Spark job, its slots, and a connection to each of them."""

    def __init__(
        self,
        spark: OnSpark,
        plan: Plan,
        deployment: JobDeployment,
        wanted_hosts: Mapping[int, str] | None = None,
        request_s: float = 300.0,
        region: Region | None = None,
        task_slots: int | None = None,
    ) -> None:
        """`region` is the one that is run, if not the whole job; `places` those of the cluster, if that is known."""
        self._spark = spark
        # How long the job waits for task slots of the cluster.
        self._request_s = request_s
        self._launch_s = max(_LAUNCH_S, request_s)
        self._context = spark.sparkContext
        self._slots = range(plan.slots) if region is None else region.slots
        # On a cluster, a region has its share of the places.
        self._job_slots = plan.slots
        self._known_task_slots = task_slots
        self._group = deployment.key if region is None else f"{deployment.key}-{region.number}"
        self._credentials = deployment.credentials
        self._silence_ms = deployment.heartbeat.timeout_ms
        self._is_restarted = deployment.attempt > 0
        self._wanted_hosts = wanted_hosts or {}
        self._own_address = driver_address(spark)
        self._listener = self._listen(deployment.network.driver_ports)
        self._greeter = Greeter(deployment.credentials, lambda call: partial(self._arrive, call))
        if is_embedded(spark):
            deployment = replace(deployment, driver_host=open_fork_server(), executor_pid=jvm_pid(self._context))
        deployment = replace(deployment, control=self._control_address(), driver_address=self._own_address)
        self._deployment = self._context.broadcast(deployment)
        self.addresses: dict[int, SlotAddress] = {}
        self._connections: dict[int, Connection] = {}
        self._ready: set[int] = set()
        self._arrived: deque[socket.socket] = deque()
        self._received: deque[tuple[int, Any]] = deque()
        # Callers that have not said who they are, by the descriptors of their connections.
        self._unnamed: dict[int, Connection] = {}
        # Those with something that waits to be sent.
        self._waiting: dict[Connection, None] = {}
        # With the slot of each connection. Not a poll, which takes longer the more connections there are.
        self._selector = selectors.DefaultSelector()
        self._waking, self._woken = socket.socketpair()
        self._waking.setblocking(False)
        self._woken.setblocking(False)
        self._selector.register(self._waking, selectors.EVENT_READ)
        # What Spark said when it ended the tasks of the slots.
        self.spark_failure: Exception | None = None
        self._task_failures: list[Failure] = []
        self._is_closing = False
        # How many tasks start slots and stay with them, once there is a free core for one.
        self._tasks: int | None = None
        self._spark_job = threading.Thread(target=self._run_spark_job, name="funke-slots", daemon=True)
        ship_funke(spark)

    def fileno(self) -> int:
        """What to wait for beside others: it can be read when `receive` need not wait."""
        return self._selector.fileno()

    @property
    def has_received(self) -> bool:
        """Whether `receive` has something without waiting."""
        return bool(self._received)

    @property
    def hosts(self) -> dict[int, str]:
        """Where the slots are."""
        return {slot: address.host for slot, address in self.addresses.items()}

    # Starting

    def _listen(self, ports: Sequence[int]) -> socket.socket:
        if is_embedded(self._spark):
            self._path: str | None = os.path.join(make_private_folder("control-", run_folder()), "s")
            return listen_at(self._path)
        self._path = None
        return listen_for_hosts(self._own_address, ports, 256)

    def _control_address(self) -> ControlAddress:
        if self._path is not None:
            return ControlAddress(self._path)
        return ControlAddress(None, self._own_address.host, self._listener.getsockname()[1])

    def deploy(self) -> None:
        """Starts all slots and lets them meet."""
        self._greeter.listen(self._listener)
        self._spark_job.start()
        if not is_embedded(self._spark):
            # The first slots may be there before Spark has said that their tasks run.
            self._await(lambda: self._has_all_slots() or self._do_tasks_run(), self._request_s, self._lack_of_room)
        self._await(self._has_all_slots, self._launch_s, self._lack_of_slots)
        self.send_all(Begin.of(self.addresses.values()))
        self.flush()
        # User functions open and state is restored: a slot that fails in it says so, and a lost one is noticed.
        self._await(lambda: len(self._ready) == len(self._slots), math.inf, self._lack_of_slots)

    def _has_all_slots(self) -> bool:
        return len(self._connections) == len(self._slots)

    def _do_tasks_run(self) -> bool:
        """Whether Spark has found a core for each of the tasks that start slots."""
        return self._tasks is not None and running_tasks(self._context, self._group) >= self._tasks

    def _lack_of_room(self) -> Exception:
        return SlotTimeoutError(lack_of_room(self._context, len(self._slots), self._request_s))

    def _lack_of_slots(self) -> Exception:
        there = len(self._connections)
        return SlotLostError(f"{there} of {len(self._slots)} slots have started within {self._launch_s:.0f} s")

    def _await(self, is_reached: Callable[[], bool], limit_s: float, excess: Callable[[], Exception]) -> None:
        end = time.monotonic() + limit_s
        # A slot may have been lost before, while others were waited for: its failure is reported once.
        is_lost = any(isinstance(message, Failure) for _, message in self._received)
        while not is_reached() and not is_lost:
            for slot, message in self._take(_LOOK_S):
                if isinstance(message, Ready):
                    self._ready.add(slot)
                else:
                    self._received.append((slot, message))
                    if isinstance(message, Failure):
                        return
            if self._is_closing:
                raise SlotLostError("the job was given up while its slots started")
            if not self._spark_job.is_alive() and not is_reached():
                raise self._failure_of_tasks()
            if time.monotonic() > end:
                raise excess()

    def _run_spark_job(self) -> None:
        deployment = self._deployment

        def accompany(shares: Iterable[list[int]]) -> Iterator[Failure]:
            prepare_spark_worker()
            yield from accompany_slots([slot for share in shares for slot in share], deployment.value)

        try:
            self._context.setJobGroup(self._group, f"funke {self._group}: streaming", interruptOnCancel=False)
            self._task_failures += self._slot_numbers().mapPartitions(accompany).collect()
        except Exception as error:
            self.spark_failure = error
        self.wake()

    def _slot_numbers(self) -> RDD[list[int]]:
        """The slots that each task stays with: as few as there are cores for tasks, which last as long as the job."""
        slots = self._slots
        tasks = min(self._task_slots(), len(slots))
        if tasks < len(slots) or not self._wanted_hosts:
            self._tasks = tasks
            return self._context.parallelize([list(slots[task::tasks]) for task in range(tasks)], tasks)
        self._tasks = len(slots)
        hosts = [[self._wanted_hosts[slot]] if slot in self._wanted_hosts else [] for slot in slots]
        return placed_rdd(self._context, [[slot] for slot in slots], hosts)

    def _task_slots(self) -> int:
        """How many tasks there is room for; on embedded Spark all slots are on this host, and one task starts them."""
        if is_embedded(self._spark):
            return 1
        task_slots = self._known_task_slots
        if task_slots is None:
            task_slots = await_task_slots(self._context, self._job_slots, self._is_restarted, self._request_s)
        return max(1, task_slots * len(self._slots) // self._job_slots)

    def _failure_of_tasks(self) -> Exception:
        if self._task_failures:
            return start_error(self._task_failures[0])
        return self.spark_failure or SlotLostError("Spark has ended the job's tasks")

    def _arrive(self, call: socket.socket) -> None:
        self._arrived.append(call)
        self.wake()

    # Talking

    def wake(self) -> None:
        """Ends a wait for messages; from any thread."""
        with contextlib.suppress(OSError):
            self._woken.send(b"\0")

    def send(self, slot: int, message: Any) -> None:
        """Tells a slot something; it leaves with the next `receive`."""
        self._connections[slot].send(MESSAGE, encode(message))

    def send_all(self, message: Any) -> None:
        """Tells all slots."""
        encoded = encode(message)
        for connection in self._connections.values():
            connection.send(MESSAGE, encoded)

    def access(self, slot: int) -> tuple[SlotAddress, Credentials]:
        """What a call to a slot needs; from any thread, and also when the slot's loop is stuck."""
        return self.addresses[slot], self._credentials

    def sample(self, slot: int, command: SampleCommand) -> tuple[SampledStack, ...]:
        """What a slot does, seen so many times."""
        return sample(*self.access(slot), command)

    def receive(self, wait_s: float) -> Iterator[tuple[int, Any]]:
        """What slots have said, after at most so long; a slot that is gone says a Failure."""
        while self._received:
            yield self._received.popleft()
            wait_s = 0.0
        yield from self._take(wait_s)

    def _take(self, wait_s: float) -> Iterator[tuple[int, Any]]:
        self.flush()
        for key, _ in self._selector.select(wait_s):
            if key.fileobj is self._waking:
                with contextlib.suppress(BlockingIOError):
                    self._waking.recv(1 << 12)
                self._welcome()
            elif key.data is None:
                self._meet(key.fd)
            else:
                yield from self._take_from(key.data)
        if self.spark_failure is not None and not self._is_closing:
            raise self.spark_failure

    def _welcome(self) -> None:
        while self._arrived:
            limit_silence(self._arrived[0], self._silence_ms)
            connection = Connection(self._arrived.popleft(), self._waiting)
            self._unnamed[connection.fileno()] = connection
            self._selector.register(connection.fileno(), selectors.EVENT_READ)

    def _meet(self, descriptor: int) -> None:
        """The first word of a slot: which one it is."""
        connection = self._unnamed[descriptor]
        try:
            packets = list(connection.receive())
        except OSError:
            self._forget(descriptor)
            return
        for packet in packets:
            message = decode(packet.payload)
            if isinstance(message, Born) and message.address.slot not in self._connections:
                slot = message.address.slot
                del self._unnamed[descriptor]
                self._selector.modify(descriptor, selectors.EVENT_READ, slot)
                self._connections[slot] = connection
                self.addresses[slot] = message.address
            elif descriptor in self._unnamed:
                self._forget(descriptor)  # a task that Spark has repeated
                return
            else:
                self._received.append((slot, message))

    def _forget(self, descriptor: int) -> None:
        self._selector.unregister(descriptor)
        self._unnamed.pop(descriptor).close()

    def _take_from(self, slot: int) -> Iterator[tuple[int, Any]]:
        connection = self._connections[slot]
        try:
            packets = list(connection.receive())
        except OSError as error:
            self._selector.unregister(connection.fileno())
            if not self._is_closing:
                yield slot, lost_slot(self.addresses[slot], error)
            return
        for packet in packets:
            yield slot, decode(packet.payload)

    def flush(self) -> None:
        """Sends pending messages to slots, as far as their connections have room."""
        for connection in list(self._waiting):
            try:
                is_sent = connection.flush()
            except OSError:  # the reader of the connection will notice
                del self._waiting[connection]
                continue
            events = selectors.EVENT_READ if is_sent else selectors.EVENT_READ | selectors.EVENT_WRITE
            key = self._selector.get_map().get(connection.fileno())
            if key is not None and key.events != events:
                self._selector.modify(key.fd, events, key.data)

    # Ending

    def cancel(self) -> None:
        """Ends the slots, from any thread."""
        self.close()

    def close(self) -> None:
        """Ends all slots and waits until they are gone, and Spark's job with them."""
        self._is_closing = True
        self._greeter.close()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for connection in (*self._connections.values(), *self._unnamed.values()):
            connection.shut_down()
        self.wake()
        if self._spark_job.is_alive() and self._spark_job is not threading.current_thread():
            self._spark_job.join(_END_S)
        with contextlib.suppress(Exception):  # Spark may have ended
            if self._spark_job.is_alive():
                self._context.cancelJobGroup(self._group)
            self._deployment.unpersist()
        if self._path is not None:
            shutil.rmtree(os.path.dirname(self._path), ignore_errors=True)


def accompany_slots(slots: list[int], deployment: JobDeployment) -> Iterator[Failure]:
    """In a Spark task: starts slots and stays with them; yields how those ended that should not have."""
    own: dict[int, Any] = {}
    addresses: dict[int, SlotAddress] = {}
    try:
        # One slot is loaded while the next one starts.
        for address in [start_slot(slot, deployment) for slot in slots]:
            staying = connect(address, deployment.credentials, ACCOMPANY).connection
            own[staying.fileno()] = staying
            addresses[staying.fileno()] = address
    except Exception as error:
        for staying in own.values():
            staying.close()
        yield to_failure(error)
        return
    # Now the task only waits.
    is_archive_wanted = deployment.driver_host is None and provide_archive(executor_pid(deployment))
    while own:
        for descriptor in select.select(list(own), [], [])[0]:
            with contextlib.suppress(OSError):
                own[descriptor].recv(1)
            own.pop(descriptor).close()
    if is_archive_wanted:
        make_archive(executor_pid(deployment))
