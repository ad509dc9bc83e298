"""Decides when to take checkpoints, gathers what slots acknowledge, completes or gives up, and commits."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Collection, Iterable
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from funke.engine.connectors.staging import awaited, self_contained
from funke.engine.errors import FunkeError, JobExecutionError, LeaseLostError, StateError
from funke.engine.jobs.checkpoints.checkpoint_settings import CheckpointSettings
from funke.engine.jobs.checkpoints.checkpoint_store import CheckpointStore
from funke.engine.jobs.checkpoints.checkpoints import Checkpoint, OperatorEntry, mark_committed, write_checkpoint
from funke.engine.jobs.checkpoints.savepoints import CheckpointRequest, SavepointRequest, SnapshotRequests
from funke.engine.jobs.notices import notice
from funke.engine.jobs.views.job_view import CheckpointsView, CheckpointView, SlotSnapshotView, StateView
from funke.engine.runtime.blocks.block_codec import encode
from funke.engine.runtime.epochs.results import describe
from funke.engine.runtime.fault_points import reach
from funke.engine.runtime.snapshots.checkpoint_command import (
    CheckpointCommand,
    CheckpointKind,
    CheckpointNotifications,
    SnapshotAck,
)
from funke.engine.runtime.snapshots.snapshot_files import SnapshotHandle, delete_folder
from funke.engine.state.snapshot.state_sizes import StateSizes
from funke.engine.types.keys.key_groups import NEWEST_KEY_HASH

__all__ = ["CheckpointCoordinator", "Guard"]

# Makes visible what sinks have prepared up to an epoch, by operator id.
CommitAll = Callable[[int, dict[str, list[Any]]], None]


class Guard(Protocol):
    """Who may say that this driver no longer runs the job; and who must know what a restart would start from."""

    def check(self) -> None:
        """Raises when another driver runs the job."""

    def put_checkpoint(self, folder: str, is_last: bool) -> None:
        """A checkpoint is complete; the job ends with the last one."""


@dataclass
class _Pending:
    """A checkpoint that was ordered: its epoch runs, then it waits for acknowledgements."""

    command: CheckpointCommand
    started: float
    request: SavepointRequest | None = None
    # Who asked for this checkpoint, if it was not due by itself.
    asked: list[CheckpointRequest] = field(default_factory=list)
    has_run: bool = False
    epoch: int = 0
    sources: dict[str, bytes] = field(default_factory=dict)
    waiting: set[int] = field(default_factory=set)
    # Slots through which the barriers have come.
    captured: set[int] = field(default_factory=set)
    acks: list[SnapshotAck] = field(default_factory=list)
    # When the slots have answered, by the same clock as `started`.
    answered: dict[int, float] = field(default_factory=dict)

    @property
    def handles(self) -> tuple[SnapshotHandle, ...]:
        """All state that was written; if nothing was on its way, how far event time had come there is not needed."""
        has_in_flight = self.in_flight_bytes > 0
        all_handles = (handle for ack in self.acks for handle in ack.handles)
        return tuple(handle for handle in all_handles if handle.operator_ids or has_in_flight)

    @property
    def in_flight_bytes(self) -> int:
        """How much was on its way when barriers overtook it."""
        return sum(ack.in_flight_bytes for ack in self.acks)

    @property
    def is_aligning(self) -> bool:
        """Whether barriers are on their way that may still have to overtake what is before them."""
        is_on_its_way = not self.has_run or bool(self.waiting - self.captured)
        return self.command.kind == "checkpoint" and not self.command.is_unaligned and is_on_its_way

    def to_view(self, now: float, **settings: Any) -> CheckpointView:
        """A view of it, now or after its end."""
        duration_ms = (now - self.started) * 1000
        return CheckpointView(
            self.command.checkpoint_id,
            self.command.kind,
            triggered_ms=int(time.time() * 1000 - duration_ms),
            duration_ms=duration_ms,
            size=sum(ack.new_bytes for ack in self.acks),
            stall_ms=max((ack.stall_ms for ack in self.acks), default=0.0),
            slots=tuple(map(self._slot_view, self.acks)),
            is_unaligned=self.command.is_unaligned,
            **settings,
        )

    def _slot_view(self, ack: SnapshotAck) -> SlotSnapshotView:
        answered_ms = (self.answered[ack.slot] - self.started) * 1000
        return SlotSnapshotView(
            ack.slot, ack.write_ms, ack.stall_ms, ack.new_bytes, answered_ms, ack.in_flight_bytes, ack.alignments
        )


@dataclass(frozen=True)
class CheckpointedJob:
    """What every checkpoint says of its job."""

    job_id: str
    operators: dict[str, OperatorEntry] = field(default_factory=dict)
    # The plan whose channels checkpoints refer to.
    fingerprint: str = ""
    # By which hash the job deals out keys; see `KeyGroups`.
    key_hash: int = NEWEST_KEY_HASH


class CheckpointCoordinator:
    """The checkpoints of a job, from one attempt to the next."""

    def __init__(
        self,
        job: CheckpointedJob,
        settings: CheckpointSettings,
        store: CheckpointStore,
        last_id: int,
        last_savepoint: Checkpoint | None = None,
        *,
        guard: Guard | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.job = job
        self.settings = settings
        self.store = store
        self.requests: SnapshotRequests[SavepointRequest] = SnapshotRequests("savepoint", settings.timeout_ms)
        self._asked: SnapshotRequests[CheckpointRequest] = SnapshotRequests("checkpoint", settings.timeout_ms)
        self.statistics = CheckpointsView()
        # Called whenever the metrics have changed.
        self.on_change: Callable[[], None] = lambda: None
        self.attempt = 0
        # Whether a source reads old data just now.
        self.is_in_backlog = False
        # A job that was stopped with a savepoint ends with it, and commits once more if that failed.
        self.last_savepoint = last_savepoint
        self._last_request: SavepointRequest | None = None
        # The newest one of which sinks have committed everything, as far as this driver knows.
        self.committed_id = -1
        self._guard = guard
        self._clock = clock
        # The highest number that a checkpoint of the job has had.
        self._last_id = last_id
        self._last_started = clock()
        self._last_ended = -1e9
        self._failures = 0
        # One that took too long with its barriers in line, and is begun again.
        self._overtaken: _Pending | None = None
        self._pending: dict[int, _Pending] = {}
        self._uncommitted: list[tuple[int, str, list[Any]]] = []
        # Notifies slots and sources at once; None in epochs.
        self.tell: Callable[[], None] = lambda: None
        self._completed_notifications: list[int] = []
        self._aborted_notifications: list[int] = []
        # Folders of checkpoints that were given up, into which slots that have not heard of it may still write.
        self._given_up: list[str] = []

    # When

    @property
    def is_periodic(self) -> bool:
        """Whether checkpoints are taken by themselves."""
        return self.settings.interval_ms is not None

    @property
    def has_pending(self) -> bool:
        """Whether a checkpoint is under way."""
        return bool(self._pending)

    def under_way(self) -> tuple[CheckpointView, ...]:
        """Those that have begun, as they stand; any thread may ask."""
        now = self._clock()
        return tuple(pending.to_view(now, status="IN_PROGRESS") for pending in list(self._pending.values()))

    @property
    def has_savepoints(self) -> bool:
        """Whether a savepoint is requested, begun or not."""
        return bool(self.requests) or any(pending.request is not None for pending in self._pending.values())

    def ask_checkpoint(self, request: CheckpointRequest) -> Future[int]:
        """Makes a checkpoint due now; StateError if the job takes none."""
        if not self.is_periodic:
            raise StateError(
                "the job takes no checkpoints: set execution.checkpointing.interval, or ask for a savepoint"
            )
        return self._asked.ask(request)

    def wake_with(self, wake: Callable[[], None]) -> None:
        """Called to wake the driver when a request arrives."""
        self.requests.on_ask = self._asked.on_ask = wake

    def is_due(self) -> bool:
        """Whether the next epoch should come now, to be a checkpoint."""
        return bool(self.requests) or self._is_checkpoint_due()

    def ms_until_due(self) -> float | None:
        """How long nothing is due; None if nothing will be by itself."""
        until_due_ms = self._signed_ms_until_due()
        return None if until_due_ms is None else max(0.0, until_due_ms)

    def _signed_ms_until_due(self) -> float | None:
        """Less than zero for one that has been due for a while."""
        if self._checkpoints_under_way() >= self.settings.max_concurrent:
            return None
        if self._asked or self._overtaken is not None:
            return 0.0
        interval_ms = self._interval_ms()
        if interval_ms is None:
            return None
        now = self._clock()
        since_start, since_end = (now - self._last_started) * 1000, (now - self._last_ended) * 1000
        return max(interval_ms - since_start, self.settings.min_pause_ms - since_end)

    def _interval_ms(self) -> int | None:
        if self.is_periodic and self.is_in_backlog and self.settings.backlog_interval_ms is not None:
            return self.settings.backlog_interval_ms or None
        return self.settings.interval_ms

    def _is_checkpoint_due(self) -> bool:
        return self.ms_until_due() == 0.0

    def _checkpoints_under_way(self) -> int:
        # Savepoints count, as in Flink: what they read of the state's files goes with the next checkpoint.
        return sum(pending.command.kind != "final" for pending in self._pending.values())

    # Begin

    def next_command(self, is_final: bool = False) -> tuple[CheckpointCommand, SavepointRequest | None] | None:
        """What the next epoch is to be: a requested savepoint, a checkpoint that is due, or none."""
        request, asked = None if is_final else self.requests.take(), list[CheckpointRequest]()
        if is_final:
            # What the last epoch prepares must not be committed twice either.
            command = self._new_command("final") if self.is_periodic else None
        elif request is not None:
            command = self._new_command("savepoint", request.folder)
        elif self._is_checkpoint_due():
            asked = self._take_asked()
            command = self._new_command("checkpoint", is_full=any(each.is_full for each in asked))
        else:
            command = None
        if command is None:
            return None
        # From now on the requester gets an answer, whatever becomes of the epoch.
        pending = self._pending[command.checkpoint_id] = _Pending(command, self._clock(), request, asked)
        if command.kind == "checkpoint" and self._overtaken is not None:
            pending.started, self._overtaken = self._overtaken.started, None
        return command, request

    def _take_asked(self) -> list[CheckpointRequest]:
        """All who wait for a checkpoint get the same one."""
        requests = [] if self._overtaken is None else list(self._overtaken.asked)
        while (request := self._asked.take()) is not None:
            requests.append(request)
        return requests

    def _new_command(self, kind: CheckpointKind, folder: str | None = None, is_full: bool = False) -> CheckpointCommand:
        if kind == "checkpoint":
            self._last_started = self._clock()
        self._last_id = self._last_id + 1 if folder is not None else self.store.reserve(self._last_id + 1)
        # A savepoint stands for itself: it shares no files.
        is_incremental = self.settings.is_incremental and kind == "checkpoint" and not is_full
        target = folder or self.store.folder_of(self._last_id)
        settings = self.settings
        sizes = settings.inline_bytes, settings.buffer_bytes
        # Savepoints can be started from in any way, so that nothing is on its way in them.
        overtakes = self._overtaken is not None or settings.alignment_ms == 0
        is_unaligned = settings.is_unaligned and kind == "checkpoint" and overtakes
        return CheckpointCommand(
            self._last_id,
            target,
            kind,
            settings.compress,
            is_incremental,
            *sizes,
            is_unaligned,
            settings.is_exactly_once,
            int(time.time() * 1000),
        )

    def begin(self, command: CheckpointCommand, epoch: int, sources: dict[str, bytes], slots: Iterable[int]) -> None:
        """The epoch has run; now the slots write, in vain if the checkpoint was given up meanwhile."""
        pending = self._pending.get(command.checkpoint_id)
        if pending is not None:
            pending.has_run, pending.epoch, pending.sources = True, epoch, sources
            pending.waiting = set() if command.kind == "final" else set(slots)

    def slots_are_ready(self) -> None:
        """The first epoch of an attempt has run: what its slots took to start and to restore is not counted."""
        now, interval_ms = self._clock(), self._interval_ms()
        for pending in self._pending.values():
            pending.started = now
        if interval_ms is not None:
            self._last_started = max(self._last_started, now - interval_ms / 1000)

    def slots_begin(self) -> None:
        """Slots are about to read: the first checkpoint comes when the interval has passed."""
        self._last_started = self._clock()

    def prepared(self, command: CheckpointCommand | None, committables: dict[str, list[Any]]) -> None:
        """Sinks have prepared something, by operator id: it is committed with this checkpoint, or else the next one."""
        number = self._last_id + 1 if command is None else command.checkpoint_id
        self._uncommitted.extend((number, operator_id, items) for operator_id, items in committables.items())

    def prepared_with(self, checkpoint_id: int | None, operator_id: str, items: list[Any]) -> None:
        """A sink has prepared something for a checkpoint, or for the next one."""
        self._uncommitted.append((self._last_id + 1 if checkpoint_id is None else checkpoint_id, operator_id, items))

    def capture(self, checkpoint_id: int, slot: int) -> None:
        """The barriers of a checkpoint have come through a slot."""
        if checkpoint_id in self._pending:
            self._pending[checkpoint_id].captured.add(slot)

    def ms_until_overtaking(self) -> float | None:
        """When barriers that are on their way begin to overtake; None if none will."""
        if not self.settings.is_unaligned:
            return None
        now = self._clock()
        waits = [each.started - now for each in self._pending.values() if each.is_aligning]
        return max(0.0, min(waits) * 1000 + self.settings.alignment_ms) if waits else None

    def is_pending(self, command: CheckpointCommand) -> bool:
        """Whether a checkpoint is still wanted."""
        return command.checkpoint_id in self._pending

    # Acknowledge

    def take(self, acks: Iterable[SnapshotAck]) -> None:
        """Takes answers of slots; repeated ones and those of given-up checkpoints do no harm."""
        for ack in acks:
            pending = self._pending.get(ack.checkpoint_id)
            if pending is None or ack.slot not in pending.waiting:
                continue
            if ack.failure is not None:
                self._give_up(pending, f"slot {ack.slot} could not write its state: {ack.failure}")
                continue
            pending.waiting.discard(ack.slot)
            if not pending.waiting:
                reach("after-acknowledgement")
            pending.answered[ack.slot] = self._clock()
            pending.acks.append(ack)

    def advance(self, commit: CommitAll, held: Callable[[], str] = str) -> None:
        """Completes what is acknowledged by all, in order, and gives up what takes too long; `held` says why it may."""
        for pending in list(self._pending.values()):
            if pending.has_run and not pending.waiting and pending.command.checkpoint_id in self._pending:
                self._complete(pending, commit)
        if any(map(self._is_late, self._pending.values())):
            self._expire_pending(held())
        if self.ms_until_overtaking() == 0.0:
            self._overtake()

    def _overtake(self) -> None:
        """One whose barriers take too long is begun again, with barriers that do not wait in line."""
        pending = next(each for each in self._pending.values() if each.is_aligning)
        self._drop(pending)
        self._overtaken = pending

    def expire(self, blockers: Callable[[], str]) -> None:
        """While an epoch runs: gives up what takes too long; `holders` tells whom the epoch waits for.

        One that is due and cannot even begin because the epoch before it does not end has failed as well. Called by
        another thread, while the one that runs the job waits.
        """
        timeout_ms, until_due_ms = self.settings.timeout_ms, self._signed_ms_until_due()
        is_due_for_long = until_due_ms is not None and -until_due_ms > timeout_ms
        if not is_due_for_long and not any(map(self._is_late, self._pending.values())):
            return
        held = f"; the epoch waits for {blocker_names}" if (blocker_names := blockers()) else ""
        self._expire_pending(held)
        if is_due_for_long:
            # The next one is due at once, as it is when a checkpoint that has begun fails.
            self._last_ended = self._clock()
            self._last_started = self._last_ended - (self._interval_ms() or 0) / 1000
            number = self._last_id + 1
            message = f"checkpoint {number} failed: it could not begin within {timeout_ms} ms{held}"
            now_ms = int(time.time() * 1000)
            self._put_statistics(
                self.statistics.with_failed(CheckpointView(number, "checkpoint", "FAILED", now_ms, failure=message))
            )
            self._count_failure(message)

    def _is_late(self, pending: _Pending) -> bool:
        # With the last one the job ends, and there is no later one that could take its place.
        is_limited = pending.command.kind != "final"
        return is_limited and (self._clock() - pending.started) * 1000 > self.settings.timeout_ms

    def _expire_pending(self, held: str) -> None:
        for pending in [pending for pending in self._pending.values() if self._is_late(pending)]:
            slots = ", ".join(map(str, sorted(pending.waiting)))
            writing = f"; no answer from slot {slots}, which writes its state" if slots else ""
            self._give_up(pending, f"it was not complete after {self.settings.timeout_ms} ms{writing or held}")

    def _write(self, pending: _Pending, committables: dict[str, list[Any]]) -> Checkpoint:
        """Writes the metadata, unless another driver runs the job."""
        command, request = pending.command, pending.request
        # A savepoint may outlive the job's folder, where sinks keep what waits for its commit.
        kept = {name: self_contained(items) for name, items in committables.items()} if request else committables
        checkpoint = Checkpoint(
            self.job.job_id,
            command.checkpoint_id,
            pending.epoch,
            command.kind,
            pending.handles,
            pending.sources,
            {operator_id: encode(items) for operator_id, items in kept.items()},
            self.job.operators,
            self.attempt,
            is_drained=request is not None and request.is_draining,
            channels_of=self.job.fingerprint if pending.in_flight_bytes else "",
            key_hash=self.job.key_hash,
        )
        reach("before-metadata")
        if self._guard is not None:
            self._guard.check()
        return write_checkpoint(command.folder, checkpoint)

    def _complete(self, pending: _Pending, commit: CommitAll) -> None:
        command, request = pending.command, pending.request
        committables = self._committables_up_to(command.checkpoint_id)
        try:
            written = self._write(pending, committables)
        except LeaseLostError:
            raise
        except Exception as error:  # whatever it is, the checkpoint has failed by it, and not the job
            self._give_up(pending, _reason(error))
            return
        reach("after-final-metadata" if command.kind == "final" else "after-metadata")
        del self._pending[command.checkpoint_id]
        commits = request is None or request.commits
        if commits and self._guard is not None:
            # The pointer, then the check, then what counts: older checkpoints go, sinks commit.
            try:
                self._guard.put_checkpoint(written.path, is_last=request is not None)
            except LeaseLostError:
                raise
            except Exception as error:  # its files stay: how much of the pointer was written is unknown
                self._note_failure(pending, _reason(error))
                return
            self._guard.check()
        self._note(pending, written)
        if request is None:
            self._accept(written)
            for asked in pending.asked:
                asked.succeed(command.checkpoint_id)
        elif request.ends_job:
            self.last_savepoint, self._last_request = written, request
        if commits:
            self._completed_notifications.append(command.checkpoint_id)
            is_last = command.kind == "final" or request is not None
            self._commit_up_to(command.checkpoint_id, pending.epoch, committables, commit, is_last)
            if request is not None:
                with contextlib.suppress(FunkeError, OSError):  # then a job that starts from it commits again
                    mark_committed(written)
        if request is not None and not request.ends_job:
            request.succeed(written.path)

    def _accept(self, written: Checkpoint) -> None:
        self._failures = 0
        self.store.add(written)
        self._tidy_up()
        # Checkpoints that were begun before have become pointless.
        for older in [p for p in self._pending.values() if p.command.checkpoint_id < written.checkpoint_id]:
            if older.request is None:
                self._drop(older)
                for asked in older.asked:  # a newer one has all that it would have had
                    asked.succeed(written.checkpoint_id)
        # Nothing newer was begun: what else is among the shared files belongs to checkpoints that were given up.
        if written.checkpoint_id == self._last_id:
            self._sweep()

    def _tidy_up(self) -> None:
        """All slots have heard by now which checkpoints were given up, or are gone."""
        folders, self._given_up = self._given_up, []
        for folder in folders:
            with contextlib.suppress(FunkeError, OSError):
                delete_folder(folder)

    def _sweep(self) -> None:
        # What a damaged checkpoint shares may be all that is left of it, until a user has decided to go back.
        if self.settings.is_incremental and not self.store.losses:
            with contextlib.suppress(FunkeError, OSError):
                self.store.sweep(self._guard.check if self._guard is not None else lambda: None)

    def _note(self, pending: _Pending, written: Checkpoint) -> None:
        self._last_ended = self._clock()
        view = pending.to_view(self._last_ended, status="COMPLETED", full_size=written.state_size, path=written.path)
        self._put_statistics(replace(self.statistics.with_completed(view), states=_states_of(pending.acks)))

    def note_restored(self, start: Checkpoint) -> None:
        """An attempt starts from a checkpoint."""
        source = CheckpointView(
            start.checkpoint_id, start.kind, "COMPLETED", start.created_ms, full_size=start.state_size, path=start.path
        )
        self._put_statistics(self.statistics.with_restored(source))

    def _put_statistics(self, statistics: CheckpointsView) -> None:
        self.statistics = statistics
        self.on_change()

    # Commit

    def commit_rest(self, epoch: int, commit: CommitAll) -> None:
        """At the end of a job without checkpoints: commits everything."""
        last = self._last_id + 1
        committables = self._committables_up_to(last)
        if committables:  # writers that commit in their slots have heard of no checkpoint
            self._completed_notifications.append(last)
        self._commit_up_to(last, epoch, committables, commit, is_last=True)

    def _committables_up_to(self, checkpoint_id: int) -> dict[str, list[Any]]:
        by_operator: dict[str, list[Any]] = {}
        for number, operator_id, items in self._uncommitted:
            if number <= checkpoint_id:
                by_operator.setdefault(operator_id, []).extend(items)
        return by_operator

    def _commit_up_to(
        self, checkpoint_id: int, epoch: int, committables: dict[str, list[Any]], commit: CommitAll, is_last: bool
    ) -> None:
        # First: there are writers that commit when they hear of it.
        self.tell()
        if is_last:
            committables = {operator_id: awaited(items) for operator_id, items in committables.items()}
        commit(epoch, committables)
        self.committed_id = checkpoint_id
        reach("after-commits")
        self._uncommitted = [entry for entry in self._uncommitted if entry[0] > checkpoint_id]

    # Give up

    def _give_up(self, pending: _Pending, reason: str) -> None:
        """A checkpoint has failed."""
        self._drop(pending)
        self._note_failure(pending, reason)

    def _note_failure(self, pending: _Pending, reason: str) -> None:
        message = f"checkpoint {pending.command.checkpoint_id} failed: {reason}"
        self._last_ended = self._clock()
        self._put_statistics(
            self.statistics.with_failed(pending.to_view(self._last_ended, status="FAILED", failure=message))
        )
        for asked in pending.asked:
            asked.fail(StateError(message))
        if pending.request is None:
            self._count_failure(message, pending.command.kind == "final")
        else:
            pending.request.fail(StateError(f"the savepoint failed: {reason}"))

    def _count_failure(self, message: str, is_final: bool = False) -> None:
        """Too many failures in a row fail the job."""
        self._failures += 1
        if is_final or self._failures > self.settings.tolerable_failures:
            tolerated = self.settings.tolerable_failures
            raise JobExecutionError(f"{message} ({self._failures} in a row, {tolerated} are tolerated)")
        notice(f"warning: {message}; the job goes on")

    def _drop(self, pending: _Pending) -> None:
        del self._pending[pending.command.checkpoint_id]
        self._aborted_notifications.append(pending.command.checkpoint_id)
        self._given_up.append(pending.command.folder)
        with contextlib.suppress(FunkeError, OSError):
            delete_folder(pending.command.folder)

    # Tell

    @property
    def has_notifications(self) -> bool:
        """Whether there are notifications that slots and sources have not received."""
        return bool(self._completed_notifications or self._aborted_notifications)

    def take_notifications(self) -> CheckpointNotifications:
        """The pending notifications for slots; each is given once."""
        notifications = CheckpointNotifications(
            tuple(self._completed_notifications), tuple(self._aborted_notifications)
        )
        self._completed_notifications, self._aborted_notifications = [], []
        return notifications

    def end_attempt(self, reason: FunkeError) -> None:
        """The slots are gone: nothing that was begun will be completed."""
        self._drop_all(f"the job did ({reason})")
        self._tidy_up()
        self._sweep()
        self._uncommitted = []
        self._completed_notifications, self._aborted_notifications = [], []
        self._failures = 0
        self._last_started = self._clock()

    def end_region(self, operators: Collection[str], reason: FunkeError) -> None:
        """A region restarts from the last checkpoint: none that was begun is completed, as in Flink.

        What the sinks of the other regions have prepared is committed with the next one.
        """
        self._drop_all(f"a part of the job did ({reason})")
        self._uncommitted = [entry for entry in self._uncommitted if entry[1] not in operators]

    def _drop_all(self, reason: str) -> None:
        ended = list(self._pending.values())
        for pending in ended:
            self._drop(pending)
        if self._overtaken is not None:
            ended.append(self._overtaken)
            self._overtaken = None
        for pending in ended:
            if pending.request is not None:
                pending.request.fail(StateError(f"the savepoint failed: {reason}"))
            for asked in pending.asked:
                asked.fail(StateError(f"the checkpoint failed: {reason}"))

    def answer_requests(self) -> None:
        """The job has ended: answers pending requests: a stop with savepoint gets the path, the others an error."""
        if self.last_savepoint is not None and self._last_request is not None:
            self._last_request.succeed(self.last_savepoint.path)
        for requests in (self.requests, self._asked):
            requests.close(JobExecutionError("the job has ended"))

    def remove_unneeded(self, is_cancelled: bool, has_failed: bool) -> None:
        """The job has ended: removes what the retention does not keep."""
        settings = self.settings
        is_kept = (is_cancelled and settings.is_kept_on_cancellation) or (has_failed and settings.is_kept_on_failure)
        if settings.is_temporary:
            self.settings.remove_temporary()
        elif self.is_periodic and is_kept:
            notice(f"note: checkpoints are kept in {self.store.folder}")
        elif self.is_periodic:
            delete_folder(self.store.folder)


def _reason(error: Exception) -> str:
    return str(error) if isinstance(error, FunkeError) else ": ".join(describe(error))


def _states_of(acks: Iterable[SnapshotAck]) -> tuple[StateView, ...]:
    """What all slots together remember."""
    sizes = StateSizes()
    for ack in acks:
        sizes.add(ack.states)
    return tuple(StateView(*each) for each in sizes.all())
