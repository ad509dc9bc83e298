"""From a program's graph to a job that can be run: where it starts from, its plan, and what slots are given."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace

from funke.engine.config import flink_options as options
from funke.engine.config.settings import Settings
from funke.engine.errors import RecoveryRejectedError
from funke.engine.graph.job_graph import JobGraph
from funke.engine.graph.stream_graph import StreamGraph
from funke.engine.jobs.attempts.restart import RestartStrategy, restart_strategy
from funke.engine.jobs.attempts.slot_limit import most_slots
from funke.engine.jobs.checkpoints.checkpoint_coordinator import CheckpointCoordinator, CheckpointedJob
from funke.engine.jobs.checkpoints.checkpoint_settings import CheckpointSettings
from funke.engine.jobs.checkpoints.checkpoint_store import CheckpointStore
from funke.engine.jobs.checkpoints.checkpoints import Checkpoint, OperatorEntry, read_checkpoint, verify_files
from funke.engine.jobs.checkpoints.start_point import (
    matched_graph,
    operator_entries,
    require_same_channels,
    state_moves,
    undescribed,
)
from funke.engine.jobs.notices import notice
from funke.engine.jobs.settings import JobSettings
from funke.engine.jobs.submission.ignored_settings import warn_of_ignored
from funke.engine.jobs.submission.job_code import network_settings, pack_job
from funke.engine.planner.chaining import to_job_graph
from funke.engine.planner.exchange_mode import ExchangeMode, exchange_mode
from funke.engine.planner.plan import Plan, to_plan
from funke.engine.runtime.job_files.dependencies import Dependencies, stage
from funke.engine.runtime.pipelined.network_buffers import require_buffers
from funke.engine.runtime.slots.worker_setup import JobDeployment
from funke.engine.runtime.snapshots.snapshot_files import join_path

__all__ = ["PlannedJob", "plan_job"]


@dataclass(frozen=True)
class PlannedJob:
    """A job before its first attempt."""

    job_id: str
    settings: JobSettings
    graph: JobGraph
    plan: Plan
    mode: ExchangeMode
    checkpoint_coordinator: CheckpointCoordinator
    dependencies: Dependencies
    # What the slots of the first attempt are given.
    deployment: JobDeployment
    restart: RestartStrategy

    @property
    def configured(self) -> Settings:
        """The job's configuration."""
        return Settings(self.settings.configuration)

    @property
    def is_recovered(self) -> bool:
        """Whether another driver has begun the job, and there is something to go on from."""
        record = self.settings.record
        return record is not None and record.checkpoint is not None


def plan_job(graph: StreamGraph, settings: JobSettings) -> PlannedJob:
    """Plans a job; leaves nothing behind when that fails."""
    configured = Settings(settings.configuration)
    job_id = settings.record.job_id if settings.record is not None else secrets.token_hex(16)
    with ExitStack() as undoing:
        job_graph = to_job_graph(graph)
        checkpointing = _checkpoint_settings(job_graph, settings)
        undoing.callback(checkpointing.remove_temporary)
        store = _create_store(job_id, checkpointing, settings)
        # Before damaged checkpoints are left out: their numbers are not used again.
        last_id = store.highest_id()
        start = _start_point(store, configured)
        if start is not None:
            is_unclaimed_allowed = configured.get(options.IGNORE_UNCLAIMED_STATE)
            job_graph = matched_graph(job_graph, graph, start, is_unclaimed_allowed)
        operators = operator_entries(job_graph)
        if start is not None:
            _require_same_meanings(start, operators)
        mode = exchange_mode(job_graph, configured.get(options.EXCHANGE))
        plan = _plan(job_graph, mode, configured)
        if not mode.is_pipelined:  # nothing is on its way between two epochs
            checkpointing = replace(checkpointing, is_unaligned=False)
        if start is not None:
            require_same_channels(start, plan.fingerprint if mode.is_pipelined else None)
        if mode.is_pipelined:
            require_buffers(plan, network_settings(configured))
        dependencies = stage(
            settings.python_files, settings.python_archives, settings.python_requirements, settings.cached_files
        )
        undoing.callback(dependencies.remove)
        job = CheckpointedJob(job_id, operators, plan.fingerprint, job_graph.key_hash)
        stopped_with = _savepoint_of_stop(settings)
        checkpoint_coordinator = CheckpointCoordinator(
            job, checkpointing, store, last_id, stopped_with, guard=settings.record
        )
        deployment = pack_job(job_id, settings, plan, dependencies, checkpoint_coordinator)
        warn_of_ignored(configured)
        restart = restart_strategy(configured, checkpoint_coordinator.is_periodic)
        undoing.pop_all()
    return PlannedJob(
        job_id, settings, job_graph, plan, mode, checkpoint_coordinator, dependencies, deployment, restart
    )


def _plan(graph: JobGraph, mode: ExchangeMode, configured: Settings) -> Plan:
    """With regions, if that is wanted and there is room for slots of their own."""
    plan = to_plan(graph)
    if not mode.is_pipelined or configured.get(options.FAILOVER_STRATEGY) == "full":
        return plan
    divided = to_plan(graph, has_regions=True)
    if len(divided.regions) == 1:
        return plan
    most = most_slots(configured)
    if most is not None and divided.slots > most:
        notice(
            f"note: the job's {len(divided.regions)} regions share {plan.slots} slots, because with slots of their own "
            f"they would take {divided.slots} of {most}; a failure restarts all of them"
        )
        return plan
    return divided


def _require_same_meanings(start: Checkpoint, operators: Mapping[str, OperatorEntry]) -> None:
    """Before the start: warns of what cannot be compared, rejects what differs."""
    state_moves(start, operators)
    names = undescribed(start, operators)
    if names:
        notice(
            f"warning: '{start.path}' does not say what the state of {', '.join(names)} means, as those of earlier "
            "versions do not; it is taken for that of the same query"
        )


def _checkpoint_settings(graph: JobGraph, settings: JobSettings) -> CheckpointSettings:
    record = settings.record
    own_folder = join_path(record.record.folder, "checkpoints") if record is not None else None
    checkpointing = CheckpointSettings.of(Settings(settings.configuration), own_folder)
    return replace(checkpointing, interval_ms=None) if graph.is_batch else checkpointing


def _create_store(job_id: str, checkpointing: CheckpointSettings, settings: JobSettings) -> CheckpointStore:
    record = settings.record
    store = CheckpointStore(join_path(checkpointing.folder, job_id), checkpointing.retained)
    on_damage = Settings(settings.configuration).get(options.RECOVERY_ON_DAMAGE)
    store.may_restart = on_damage == "restart"
    if record is not None and record.checkpoint is not None:
        store.find(record.checkpoint)
    elif record is not None and record.is_state_lost:
        _find_without_record(store, on_damage)
    if checkpointing.interval_ms is not None:
        store.make_folders()
    return store


def _savepoint_of_stop(settings: JobSettings) -> Checkpoint | None:
    """The savepoint with which another driver has stopped the job: it ends with it."""
    record = settings.record
    if record is None or record.checkpoint is None or not record.is_stopped:
        return None
    return read_checkpoint(record.checkpoint)


def _find_without_record(store: CheckpointStore, on_damage: str) -> None:
    """The record of the last checkpoint is lost: a user has to decide, if there are checkpoints."""
    store.find()
    if not store.completed:
        return
    newest = store.completed[-1].path
    if on_damage == "refuse":
        raise RecoveryRejectedError(
            f"the job's record has lost its state, and there are checkpoints: the newest is '{newest}'. To go on from "
            f"it set {options.RECOVERY_ON_DAMAGE.key}=repeat (funke recover --on-damage repeat); to begin from "
            f"nothing, with all output once more, {options.RECOVERY_ON_DAMAGE.key}=restart"
        )
    is_anew = on_damage == "restart"
    start = "begins from nothing" if is_anew else f"goes on from '{newest}'"
    notice(f"warning: the job's record has lost its state; the job {start}")
    if is_anew:
        store.completed.clear()
        store.losses.clear()


def _start_point(store: CheckpointStore, configured: Settings) -> Checkpoint | None:
    """What the job begins with: its own last checkpoint, if another driver has run it, or what the user names."""
    path = configured.get(options.STATE_RECOVERY_PATH)
    if path and not store.completed:
        store.origin = read_checkpoint(path)
        verify_files(store.origin)
        store.is_origin_claimed = configured.get(options.STATE_CLAIM_MODE) == "CLAIM"
    return store.latest()
