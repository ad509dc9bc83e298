"""The loop of a slot that streams, Flink's mailbox: one thread owns operators, timers, state and connections.

Whatever happens is a turn of the loop: a block is processed, a source reads a little, a timer fires, an order of the
driver's is carried out. Deeper levels come first, sources read while those behind them have room. Nothing in it waits,
except for all of that together: blocks without credit stay in their queues, and sockets are written when they can be.
No other thread holds the interpreter for longer than a sample of the stack takes.
"""

from __future__ import annotations

import contextlib
import math
import os
import pickle
import select
import socket
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

from funke.engine.errors import JobExecutionError
from funke.engine.graph.job_graph import JobEdge
from funke.engine.operators.block_parts import Part
from funke.engine.planner.plan import Plan
from funke.engine.runtime.blocks.block_codec import decode, encode
from funke.engine.runtime.blocks.router import Router
from funke.engine.runtime.epochs.results import to_failure
from funke.engine.runtime.fault_points import reach
from funke.engine.runtime.monitoring.worker_logs import worker_logs
from funke.engine.runtime.pipelined.channel_numbers import ChannelNumbers
from funke.engine.runtime.pipelined.channels import InChannel, LocalOut, OutChannel, RemoteOut
from funke.engine.runtime.pipelined.connection import (
    BARRIER,
    BLOCK,
    CREDIT,
    MESSAGE,
    OVERTAKING,
    PROBE,
    Connection,
)
from funke.engine.runtime.pipelined.messages import (
    Captured,
    Cut,
    Finish,
    Finished,
    GoOn,
    Notify,
    Passed,
    Prepared,
    Probe,
    ReadCommands,
    Ready,
    Reports,
    SplitsRead,
    TakeCheckpoint,
)
from funke.engine.runtime.pipelined.network_buffers import SlotBuffers
from funke.engine.runtime.pipelined.network_settings import NetworkSettings
from funke.engine.runtime.pipelined.overtaking import Overtaking, put_back
from funke.engine.runtime.pipelined.stack_samples import StackSamples
from funke.engine.runtime.pipelined.task import Task
from funke.engine.runtime.slots.memory_watch import own_bytes_of
from funke.engine.runtime.slots.subtasks import InFlight, Subtask, Subtasks
from funke.engine.runtime.slots.worker_setup import JobDeployment
from funke.engine.runtime.snapshots.checkpoint_command import CheckpointNotifications
from funke.engine.types.driver_messages import DriverMessage, LoggedLines, PreparedCommits

__all__ = ["SlotLoop"]

_REPORT_S = 1.0
_SHORTEST_TICK_S = 0.05
# However busy a slot is, the timers of its quiet subtasks do not wait longer than that for their turn.
_TIMERS_S = 0.002
# So often at most it is noted who waits for a turn, however many blocks are processed meanwhile.
_WAITING_S = 0.005
# A block that takes longer is laid aside between two records, for commands and barriers that have come.
_TURN_S = 0.05
_MOST_RESULT_BYTES = 1 << 20
_LONGEST_WAIT_S = 1.0


class SlotLoop:
    """Drives the subtasks of one slot until the job's attempt ends."""

    def __init__(
        self, slot: int, plan: Plan, deployment: JobDeployment, folder: str, network: NetworkSettings | None = None
    ) -> None:
        self.number = slot
        self._plan = plan
        self._deployment = deployment
        self._network = network or deployment.network
        self._outbox: list[bytes] = []
        # Records for the driver leave like those for other slots; if the job fails in between, they are dropped.
        self._results: list[bytes] = []
        self._result_bytes = 0
        self._bell, self._rope = socket.socketpair()
        for end in (self._bell, self._rope):
            end.setblocking(False)
        self._subtasks = Subtasks(slot, plan, deployment, folder, self._carry, self.send_to_driver, self._ring)
        self.snapshots = self._subtasks.snapshots
        self._numbers = ChannelNumbers(plan)
        self._buffers = SlotBuffers(slot, plan, self._network)
        self._tasks: list[Task] = []
        self._sources: list[Task] = []
        self._inputs: dict[int, tuple[Task, InChannel]] = {}
        self._outputs: dict[int, OutChannel] = {}
        # The same by exchange, sending and receiving subtask.
        self._outputs_to: dict[tuple[int, int, int], OutChannel] = {}
        # Connections with something that waits to be sent.
        self._waiting: dict[Connection, None] = {}
        self._driver: Connection | None = None
        self._peers: dict[int, Connection] = {}
        # The channels that come from each of them.
        self._inputs_from: dict[int, list[InChannel]] = {}
        # What a checkpoint had overtaken here, until there are channels.
        self._in_flight: list[Any] = []
        # Not epoll, which macOS does not have: a slot has few connections.
        self._poll = select.poll()
        self._by_descriptor: dict[int, Callable[[], None]] = {}
        self._writing: set[int] = set()
        self._aborted: set[int] = set()
        # Checkpoints that begin when the one before them is captured.
        self._ordered: deque[TakeCheckpoint] = deque()
        # The checkpoint whose barrier has overtaken everything here, and the last one that did.
        self._overtaking: Overtaking | None = None
        self._last_overtaking = -1
        self._preparing: int | None = None
        self._prepare_s = 0.0
        # How many subtasks have passed the probe on.
        self._passed = 0
        self._acked: set[int] = set()
        self._is_reading = True
        # Whose block, or split, is worked on.
        self._current: Task | None = None
        self._samples = StackSamples(lambda: self._current)
        self._last_report = 0.0
        self._last_flush = 0.0
        self._last_tick = self._last_timers = self._last_debloat = self._last_waiting = 0.0
        self._debloat_s = math.inf if self._network.debloat is None else self._network.debloat.period_s
        self._tick_s = max(_SHORTEST_TICK_S, deployment.auto_watermark_interval_ms / 1000)
        # The shortest time after which something must be sent, however busy the slot is.
        self._flush_s = _LONGEST_WAIT_S

    # Building

    def open(self) -> None:
        """Builds and opens all subtasks that belong to this slot."""
        self._subtasks.open()
        self._in_flight = self._subtasks.read_in_flight()
        for subtask in self._subtasks.all:
            task = Task(subtask, self._network, self._buffers.floating(subtask.vertex.id))
            self._tasks.append(task)
            self._flush_s = min([self._flush_s, *subtask.timeouts_s])
            if subtask.source is not None:
                self._sources.append(task)
            for exchange in self._plan.inputs_of(subtask.vertex.id):
                self._open_inputs(task, subtask, exchange)
        # The deepest first: what has come far is finished before anything new begins.
        self._tasks.sort(key=lambda task: -self._plan.placements[task.subtask.vertex.id].level)
        for task in self._tasks:
            downstream = self._plan.downstream_of(task.subtask.vertex.id)
            task.downstream = tuple(other for other in self._tasks if other.subtask.vertex.id in downstream)

    def _open_inputs(self, task: Task, subtask: Subtask, exchange: JobEdge) -> None:
        network = self._network
        for sender, number in self._numbers.into(exchange, subtask.index):
            channel = InChannel(number, exchange.id, sender, task.pool, network.channel_buffers, network.segment_bytes)
            task.add_input(channel)
            self._inputs[number] = task, channel

    def connect(self, peers: dict[int, socket.socket]) -> None:
        """Takes the connections to all other slots, and makes the channels over them."""
        self._peers = {slot: Connection(own, self._waiting) for slot, own in peers.items()}
        self._inputs_from = {slot: [] for slot in peers}
        for slot, connection in self._peers.items():
            self._watch(connection, self._on_peer(slot, connection))
        for task in self._tasks:
            exchanges = self._plan.outputs_of(task.subtask.vertex.id)
            for exchange, router in zip(exchanges, task.subtask.routers, strict=True):
                self._open_outputs(task, exchange, router)
        for number, (_, channel) in self._inputs.items():
            source = self._exchange(channel.exchange_id).source_vertex
            sender = self._plan.placements[source].first_slot + channel.upstream
            if sender != self.number:
                channel.connect(self._peers[sender])
                self._inputs_from[sender].append(channel)
                self._inputs[number][1].send_credit()
        for content in self._in_flight:
            put_back(content, self._inputs, self._outputs)
        self._in_flight.clear()

    def _exchange(self, exchange_id: int) -> JobEdge:
        return next(exchange for exchange in self._plan.graph.edges if exchange.id == exchange_id)

    def _open_outputs(self, task: Task, exchange: JobEdge, router: Router) -> None:
        first = self._plan.placements[exchange.target_vertex].first_slot
        network = self._network
        sender = task.subtask.index
        for receiver, number in self._numbers.out_of(exchange, sender):
            channel: OutChannel
            if first + receiver == self.number:
                most = min(network.channel_buffers + network.floating_buffers, self._buffers.outgoing(exchange.id))
                channel = LocalOut(self._inputs[number][1], most)
            else:
                peer = self._peers[first + receiver]
                channel = RemoteOut(number, peer, network.channel_buffers, network.segment_bytes)
            if network.debloat is not None:
                channel.on_announced = partial(router.bound, receiver)
                channel.on_announced(network.debloat.first_bytes)
            task.add_output(channel)
            self._outputs[number] = self._outputs_to[exchange.id, sender, receiver] = channel

    def _carry(self, exchange: JobEdge, sender: int, receiver: int, parts: list[Part]) -> int:
        return self._outputs_to[exchange.id, sender, receiver].send(parts)

    def send_to_driver(self, message: DriverMessage) -> None:
        """Puts a message for the driver among those that leave at the end of this turn."""
        if isinstance(message, PreparedCommits):
            self._tell(Prepared(self._preparing, message.operator_id, message.committables))
        else:
            self._results.append(encode(message))
            self._result_bytes += len(self._results[-1])

    def _tell(self, message: Any) -> None:
        self._outbox.append(encode(message))

    def _ring(self) -> None:
        """Other threads have something for the loop, which may be asleep."""
        with contextlib.suppress(OSError):  # it has not been heard yet, or the slot has ended
            self._rope.send(b"\0")

    def _on_bell(self) -> None:
        self._bell.recv(1 << 10)

    def _watch(self, connection: Connection, on_input: Callable[[], None]) -> None:
        self._poll.register(connection.fileno(), select.POLLIN)
        self._by_descriptor[connection.fileno()] = on_input

    def _on_peer(self, slot: int, connection: Connection) -> Callable[[], None]:
        def take() -> None:
            for packet in connection.receive():
                if packet.kind == CREDIT:
                    channel = self._outputs[packet.channel]
                    assert isinstance(channel, RemoteOut)
                    channel.grant(packet.number, packet.payload)
                elif packet.kind == OVERTAKING:
                    self._on_overtaking(slot, pickle.loads(packet.payload))
                else:
                    self._inputs[packet.channel][1].put(packet.kind, packet.payload, len(packet.payload), packet.number)

        return take

    # Running

    def run(self, driver: socket.socket) -> None:
        """Runs until the driver closes its connection."""
        self._driver = Connection(driver, self._waiting)
        self._watch(self._driver, self._on_driver)
        self._poll.register(self._bell, select.POLLIN)
        self._by_descriptor[self._bell.fileno()] = self._on_bell
        self._tell(Ready())
        self._samples.start()
        while True:
            is_busy = self._turn()
            self._send(is_busy)
            wait_s = 0.0 if is_busy else self._wait_s()
            for descriptor, _ in self._poll.poll(wait_s * 1000):
                self._by_descriptor[descriptor]()

    def _turn(self) -> bool:
        """Does one thing, if there is anything to do."""
        if self._ordered:
            self._begin_checkpoints()
        for task in self._tasks:
            if task.has_input and task.has_room:
                self._process(task)
                return True
        for number, task in enumerate(self._sources if self._is_reading else ()):
            source = task.subtask.source
            if source is not None and source.is_reading and task.has_room and not task.is_held:
                # Sources take turns.
                self._sources.append(self._sources.pop(number))
                self._read(task)
                return True
        return self._settle()

    def _process(self, task: Task) -> None:
        channel, kind, content = task.take()
        self._current = task
        started = time.perf_counter()
        if kind == BLOCK:
            rest = task.subtask.gate.receive(channel.exchange_id, channel.upstream, content, started + _TURN_S)
            if rest:
                channel.put_back(rest)
            else:
                channel.processed()
            task.is_dirty = task.has_open_epoch = True
            reach("between-blocks")
        elif kind == BARRIER:
            taking = task.on_barrier(channel, content, self._aborted)
            if taking is not None:
                self._align(task, taking)
        elif kind == PROBE:
            task.on_probe()
        elif task.on_end():
            self._end(task)
        task.worked(started)
        self._current = None

    def _read(self, task: Task) -> None:
        source = task.subtask.source
        assert source is not None
        self._current = task
        started = time.perf_counter()
        reach("before-reading")
        task.subtask.chain.guarded_head(source.read)
        reach("after-reading")
        self._subtasks.fire_timers(task.subtask.chain)
        task.is_dirty = task.has_open_epoch = True
        if source.has_outcomes:
            self._tell(SplitsRead(task.subtask.vertex.id, task.subtask.index, source.report()))
        task.subtask.busy_s += time.perf_counter() - started
        self._current = None

    def _settle(self) -> bool:
        """Nothing waits: timers that are due fire, and what stands in buffers goes on its way."""
        self._fire_timers()
        for task in self._tasks:
            if task.is_ending:
                self._end(task)
            if task.is_probed and not task.is_held:
                self._pass_probe(task)
        return self._flush()

    def _fire_timers(self) -> None:
        self._last_timers = time.monotonic()
        for task in self._tasks:
            if task.has_ended or task.is_held or not task.has_room:
                continue
            with self._at_work(task):
                if self._subtasks.fire_timers(task.subtask.chain):
                    task.is_dirty = task.has_open_epoch = True

    @contextlib.contextmanager
    def _at_work(self, task: Task) -> Iterator[None]:
        """What is done meanwhile is the work of a task, also if it is not for a block: what a sink sends in one go."""
        outer, started = self._current, time.perf_counter()
        self._current = task
        yield
        task.worked(started)
        self._current = outer

    def _flush(self, is_idle: bool = True) -> bool:
        """Sends what waits in sinks, and in routers what need not or may not wait; whether there was anything."""
        now = self._last_flush = time.monotonic()
        self._release_results()
        was_dirty = False
        for task in self._tasks:
            if task.is_dirty and not task.has_ended and not task.is_held:
                task.is_dirty = False
                was_dirty = True
                with self._at_work(task):
                    task.subtask.chain.flush()
                    if is_idle:
                        task.subtask.flush_idle(now)
                    else:
                        task.is_dirty = task.subtask.flush_late(now)
        return was_dirty

    def _release_results(self) -> None:
        self._outbox += self._results
        self._results.clear()
        self._result_bytes = 0

    def _tick(self, now: float) -> None:
        """Now and then: event time goes on, and what is not needed any more goes."""
        self._last_tick = now
        for task in self._tasks:
            if task.has_open_epoch and not task.has_ended and not task.is_held:
                task.has_open_epoch = False
                with self._at_work(task):
                    task.subtask.chain.end_epoch()
                    task.subtask.flush_idle(now)

    def _catch_up(self, now: float, is_busy: bool) -> None:
        """Does what is due by the clock."""
        if (is_busy and now - self._last_flush >= self._flush_s) or self._result_bytes > _MOST_RESULT_BYTES:
            self._flush(is_idle=False)
        if now - self._last_timers >= _TIMERS_S:
            self._fire_timers()
        if not is_busy or now - self._last_waiting >= _WAITING_S:
            self._last_waiting = now
            for task in self._tasks:
                task.note_waiting()
        if now - self._last_tick >= self._tick_s:
            self._tick(now)
        if now - self._last_debloat >= self._debloat_s:
            self._last_debloat = now
            for task in self._tasks:
                task.debloat()
        if now - self._last_report >= _REPORT_S:
            self._last_report = now
            self._report()

    def _send(self, is_busy: bool) -> None:
        """What this turn has for others leaves."""
        self._catch_up(time.monotonic(), is_busy)
        self._send_acks()
        lines = worker_logs.take(f"slot {self.number}")
        if lines:
            self._tell(LoggedLines(lines))
        for task in self._tasks:
            task.send_credit()
        assert self._driver is not None
        for message in self._outbox:
            self._driver.send(MESSAGE, message)
        self._outbox.clear()
        for connection in list(self._waiting):
            self._flush_connection(connection)

    def _flush_connection(self, connection: Connection) -> None:
        descriptor = connection.fileno()
        if connection.flush():
            if descriptor in self._writing:
                self._writing.discard(descriptor)
                self._poll.modify(descriptor, select.POLLIN)
        elif descriptor not in self._writing:
            self._writing.add(descriptor)
            self._poll.modify(descriptor, select.POLLIN | select.POLLOUT)

    def _wait_s(self) -> float:
        """How long nothing is to be done, unless something comes."""
        has_open_epoch = any(task.has_open_epoch for task in self._tasks)
        wait_s = self._tick_s if has_open_epoch else _LONGEST_WAIT_S
        now_ms = time.time() * 1000
        for task in self._tasks:
            due_ms = None if task.has_ended or task.is_held else task.subtask.chain.next_wakeup_ms()
            if due_ms is not None:
                wait_s = min(wait_s, max(0.0005, (due_ms + 1 - now_ms) / 1000))
        return wait_s

    # Orders of the driver's

    def _on_driver(self) -> None:
        assert self._driver is not None
        for packet in self._driver.receive():
            self._obey(decode(packet.payload))

    def _obey(self, message: Any) -> None:
        if isinstance(message, ReadCommands):
            self._take_commands(message)
        elif isinstance(message, TakeCheckpoint):
            self._ordered.append(message)
        elif isinstance(message, Notify):
            self._learn(message.notifications)
        elif isinstance(message, GoOn):
            self._is_reading = True
        elif isinstance(message, Probe):
            for task in self._sources:
                task.is_probed = True
        elif isinstance(message, Finish):
            self._finish()
        else:
            raise JobExecutionError(f"slot {self.number} does not know the command {type(message).__name__}")

    def _take_commands(self, message: ReadCommands) -> None:
        for command in message.commands:
            task = self._source_task(command.vertex_id)
            source = task.subtask.source
            assert source is not None
            source.take(command)
            task.subtask.tell_idleness()
            task.is_dirty = task.has_open_epoch = True

    def _source_task(self, vertex_id: int) -> Task:
        return next(task for task in self._sources if task.subtask.vertex.id == vertex_id)

    def _begin_checkpoints(self) -> None:
        """Sources send the barriers of what was ordered, in order.

        A savepoint is ordered while the barriers of a checkpoint are on their way. If it overtook them here, those who
        still wait for the first would never take the second.
        """
        while self._ordered and not any(task.is_held for task in self._sources):
            taking = self._ordered.popleft()
            if taking.command.is_unaligned:
                self._overtake(taking)
            elif taking.command.checkpoint_id not in self._aborted:
                self._begin(taking)

    def _begin(self, taking: TakeCheckpoint) -> None:
        self._is_reading = not taking.is_last
        for task in self._sources:
            with self._at_work(task):
                task.begin(taking)
                self._align(task, taking)
            self._tell_cut(task, taking)
        self._capture_if_aligned(taking)

    def _tell_cut(self, task: Task, taking: TakeCheckpoint) -> None:
        """What a source has read before its barrier."""
        source = task.subtask.source
        assert source is not None
        vertex, index = task.subtask.vertex, task.subtask.index
        self._tell(Cut(taking.command.checkpoint_id, vertex.id, index, source.report()))

    def _align(self, task: Task, taking: TakeCheckpoint) -> None:
        """All barriers have come: what is before them is settled, and the barrier goes on."""
        self._prepare(task, taking)
        task.send_barrier(taking)
        reach("after-barrier")
        self._capture_if_aligned(taking)

    def _prepare(self, task: Task, taking: TakeCheckpoint) -> None:
        chain = task.subtask.chain
        self._preparing = taking.command.checkpoint_id
        if taking.is_draining:
            chain.end_input()
        chain.end_epoch()
        started = time.perf_counter()
        chain.prepare_snapshot(taking.command.checkpoint_id)
        self._preparing = None
        self._prepare_s += time.perf_counter() - started

    def _capture_if_aligned(self, taking: TakeCheckpoint) -> None:
        """Once all subtasks have their barriers, the state of the slot is written beside what follows."""
        if all(task.is_held and task.aligning == taking for task in self._tasks):
            self._capture(taking, self._prepare_s)

    def _capture(self, taking: TakeCheckpoint, stall_s: float, in_flight: InFlight | None = None) -> None:
        self._prepare_s = 0.0
        self._release_results()
        if not any(task.has_ended for task in self._tasks):  # else the last checkpoint takes its place
            alignments = tuple(task.end_alignment(taking.command.checkpoint_id) for task in self._tasks)
            self._subtasks.snapshot(taking.command, stall_s * 1000, in_flight, alignments)
            self._tell(Captured(taking.command.checkpoint_id))
        for task in self._tasks:
            task.release(taking.command.checkpoint_id)

    def _on_overtaking(self, slot: int, taking: TakeCheckpoint) -> None:
        """The barrier of another slot, which may be heard before the driver's command."""
        self._overtake(taking)
        overtaking = self._overtaking
        if overtaking is not None and overtaking.number == taking.command.checkpoint_id:
            overtaking.hear(slot, self._inputs_from[slot])
            self._capture_if_overtaken(overtaking)

    def _overtake(self, taking: TakeCheckpoint) -> None:
        """Everything stands still, and the barrier leaves before what waits; unless it has already."""
        number = taking.command.checkpoint_id
        if number <= self._last_overtaking or number in self._aborted:
            return
        self._last_overtaking = number
        for task in self._tasks:
            if task.aligning is not None:
                # It was given up, which is not known here yet.
                task.release(task.aligning.command.checkpoint_id)
            task.begin(taking)
            self._prepare(task, taking)
            task.hold()
        for task in self._sources:
            self._tell_cut(task, taking)
        self._overtaking = Overtaking(taking, self._peers, self._outputs)
        barrier = pickle.dumps(taking, 5)
        for connection in self._peers.values():
            connection.send(OVERTAKING, barrier)
        reach("after-barrier")
        self._capture_if_overtaken(self._overtaking)

    def _capture_if_overtaken(self, overtaking: Overtaking) -> None:
        """Once the barriers of all slots have come, state is written, with what was on its way."""
        if not overtaking.is_complete:
            return
        self._overtaking = None
        stall_s = self._prepare_s + time.perf_counter() - overtaking.began
        self._capture(overtaking.taking, stall_s, partial(overtaking.in_flight, list(self._inputs.values())))

    def _send_acks(self) -> None:
        for ack in self.snapshots.acks():
            if ack.checkpoint_id not in self._acked:
                self._acked.add(ack.checkpoint_id)
                self._tell(ack)

    def _learn(self, notifications: CheckpointNotifications) -> None:
        self._aborted.update(notifications.aborted)
        if self._overtaking is not None and self._overtaking.number in self._aborted:
            self._overtaking = None
        for task in self._tasks:
            task.give_up(self._aborted)
        self._subtasks.learn(notifications)

    def _pass_probe(self, task: Task) -> None:
        if task.pass_probe():
            task.is_dirty = True  # the next task in this slot runs now
            self._passed += 1
            if self._passed == len(self._tasks):
                self._passed = 0
                self._release_results()
                self._tell(Passed())

    def _finish(self) -> None:
        """All input is read: sources end, which ends those behind them."""
        for task in self._sources:
            self._end(task)

    def _end(self, task: Task) -> None:
        """Ends a task whose input has; one that still works on records ends when it has done so."""
        task.is_ending = task.subtask.chain.has_unfinished
        if task.is_ending:
            return
        # The last checkpoint takes the place of those that are being written, which read files of the state.
        self.snapshots.close()
        task.end()
        self._look_for_end()

    def _look_for_end(self) -> None:
        if all(task.has_ended for task in self._tasks):
            self._release_results()
            self._report()
            self._tell(Finished())

    def _report(self) -> None:
        reports = []
        held = {} if (own := own_bytes_of(os.getpid())) is None else {"slotMemoryUsed": own}
        for task in self._tasks:
            busy_ms = task.subtask.busy_s * 1000
            keys = task.subtask.hottest_keys()
            measured = {**task.measure(), **self._samples.busiest_line(task), **keys, **held}
            reports.append(replace(task.subtask.report(busy_ms), task_metrics=measured))
        self._tell(Reports(tuple(reports)))

    def fail(self, error: BaseException) -> None:
        """Tells the driver what went wrong; the slot is of no use any more."""
        self._outbox = [encode(to_failure(error, self.number))]
        assert self._driver is not None
        lines = worker_logs.take(f"slot {self.number}")
        if lines:
            self._tell(LoggedLines(lines))
        for message in reversed(self._outbox):
            self._driver.send(MESSAGE, message)
        while not self._driver.flush():
            select.select([], [self._driver], [], _LONGEST_WAIT_S)

    def busy_vertex(self) -> int | None:
        """The vertex whose block, or split, is worked on."""
        current = self._current
        return current.subtask.vertex.id if current is not None else None

    def close(self) -> None:
        """Closes all operators, whatever happens."""
        self._samples.close()
        self._subtasks.close()
        self._bell.close()
        self._rope.close()
