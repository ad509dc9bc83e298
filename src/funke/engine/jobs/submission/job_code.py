"""The user's code, and all that belongs to it, in the form in which it travels to workers."""

from __future__ import annotations

import os
import sys

from funke.engine.config import flink_options as options
from funke.engine.config.log_levels import LogLevels
from funke.engine.config.port_ranges import parse_ports
from funke.engine.config.settings import Settings
from funke.engine.config.slot_memory import slot_memory_limit, slot_network_memory
from funke.engine.errors import ConfigurationError, SerializationError
from funke.engine.graph.job_graph import ChainedOperator
from funke.engine.graph.operations import Operation, ReadSource, ReadSplits
from funke.engine.jobs.checkpoints.backend_settings import backend_choice
from funke.engine.jobs.checkpoints.checkpoint_coordinator import CheckpointCoordinator
from funke.engine.jobs.checkpoints.checkpoint_settings import local_copy_folders
from funke.engine.jobs.settings import JobSettings
from funke.engine.planner.plan import Plan
from funke.engine.runtime.job_files.dependencies import Dependencies
from funke.engine.runtime.monitoring.failed_records import RecordDisplay
from funke.engine.runtime.pipelined.network_settings import DebloatSettings, NetworkSettings
from funke.engine.runtime.slots.slot_watch import Heartbeat
from funke.engine.runtime.slots.worker_setup import JobDeployment, pack_code
from funke.engine.runtime.snapshots.snapshot_files import join_path
from funke.engine.trust.credentials import Credentials

__all__ = ["heartbeat_settings", "new_credentials", "pack_job", "pack_plan"]


def pack_job(
    job_id: str,
    settings: JobSettings,
    plan: Plan,
    dependencies: Dependencies,
    checkpoint_coordinator: CheckpointCoordinator,
) -> JobDeployment:
    """Everything workers must know of a job."""
    configured = Settings(settings.configuration)
    return JobDeployment(
        job_id=job_id,
        job_name=settings.job_name,
        attempt=settings.record.attempt if settings.record is not None else 0,
        credentials=new_credentials(configured),
        code=pack_plan(plan),
        startup=settings.startup,
        python_paths=tuple(path for path in dict.fromkeys((*dependencies.python_paths, *sys.path)) if path),
        archives=dependencies.archives,
        cached_files=dependencies.cached_files,
        python_executable=settings.python_executable,
        time_zone=os.environ.get("TZ"),
        job_parameters=tuple(settings.job_parameters.items()),
        log_levels=LogLevels.of(configured),
        record_display=RecordDisplay(tuple(configured.get(options.MASKED_COLUMNS) or ()))
        if configured.get(options.SHOW_RECORDS)
        else None,
        auto_watermark_interval_ms=settings.auto_watermark_interval_ms,
        is_batch=plan.graph.is_batch,
        backend=backend_choice(configured),
        staging_folder=join_path(checkpoint_coordinator.store.folder, "taskowned")
        if checkpoint_coordinator.is_periodic
        else None,
        local_folders=local_copy_folders(configured),
        heartbeat=heartbeat_settings(configured),
        memory_limit=slot_memory_limit(configured),
        network=network_settings(configured),
        buffer_timeout_ms=_buffer_timeout_ms(configured),
        fault=configured.get(options.FAULT),
    )


def _buffer_timeout_ms(configured: Settings) -> int:
    """How long records may wait in a stream, for operators without a timeout of their own; -1 until blocks are full."""
    if not configured.get(options.BUFFER_TIMEOUT_ENABLED):
        return -1
    timeout_ms: int = configured.get(options.BUFFER_TIMEOUT).to_millis()
    return timeout_ms


def new_credentials(configured: Settings) -> Credentials:
    """A secret of the job's own, and TLS if that is wanted."""
    if not configured.get(options.SSL_ENABLED):
        return Credentials.new()
    # Loading OpenSSL takes tens of milliseconds, which only those pay who use it.
    from funke.engine.jobs.submission.tls_configuration import tls_settings

    return Credentials.new(tls_settings(configured))


def network_settings(configured: Settings) -> NetworkSettings:
    """How much may be on its way between two subtasks."""
    segment_bytes = configured.get(options.SEGMENT_SIZE)
    channel, floating = configured.get(options.BUFFERS_PER_CHANNEL), configured.get(options.FLOATING_BUFFERS)
    if segment_bytes < 1 or channel < 0 or floating < 0:
        raise ConfigurationError("buffers need a size greater than 0, and their number must not be negative")
    samples, delay_ms = configured.get(options.BACKPRESSURE_SAMPLES), configured.get(options.BACKPRESSURE_DELAY)
    if samples < 1 or delay_ms < 1:
        raise ConfigurationError(
            f"{options.BACKPRESSURE_SAMPLES.key} and {options.BACKPRESSURE_DELAY.key} must be at least 1, "
            f"got {samples} and {delay_ms}"
        )
    # Without any of its own a channel would have to ask for its first one.
    return NetworkSettings(
        segment_bytes,
        max(1, channel),
        floating,
        debloat_settings(configured, segment_bytes),
        samples * delay_ms / 1000,
        parse_ports(options.SLOT_PORTS.key, configured.get(options.SLOT_PORTS)),
        parse_ports(options.DRIVER_PORTS.key, configured.get(options.DRIVER_PORTS)),
        slot_network_memory(configured) // segment_bytes,
    )


def debloat_settings(configured: Settings, most_bytes: int) -> DebloatSettings | None:
    """How blocks are fitted to their receivers, if they are."""
    if not configured.get(options.DEBLOAT_ENABLED):
        return None
    target_ms = configured.get(options.DEBLOAT_TARGET).to_millis()
    period_ms = configured.get(options.DEBLOAT_PERIOD).to_millis()
    samples, percent = configured.get(options.DEBLOAT_SAMPLES), configured.get(options.DEBLOAT_THRESHOLD)
    if target_ms < 1 or period_ms < 1 or samples < 1 or not 0 <= percent <= 100:
        raise ConfigurationError(
            "taskmanager.network.memory.buffer-debloat: target and period must be longer than 0, samples at least 1 "
            f"and threshold-percentages between 0 and 100, got {target_ms} ms, {period_ms} ms, {samples} and {percent}"
        )
    first, least = configured.get(options.STARTING_SEGMENT_SIZE), configured.get(options.MIN_SEGMENT_SIZE)
    if not 1 <= least <= most_bytes:
        raise ConfigurationError(
            f"{options.MIN_SEGMENT_SIZE.key} must be between 1 byte and {options.SEGMENT_SIZE.key}, "
            f"got {least} and {most_bytes} bytes"
        )
    return DebloatSettings(
        target_ms / 1000, period_ms / 1000, samples, percent / 100, min(max(first, least), most_bytes), least
    )


def heartbeat_settings(configured: Settings) -> Heartbeat:
    """How slots are watched; the same condition as in Flink holds."""
    interval_ms = configured.get(options.HEARTBEAT_INTERVAL).to_millis()
    timeout_ms = configured.get(options.HEARTBEAT_TIMEOUT).to_millis()
    if not 0 < interval_ms < timeout_ms:
        raise ConfigurationError(
            f"heartbeat.timeout ({timeout_ms} ms) must be longer than heartbeat.interval ({interval_ms} ms), "
            "and both longer than 0"
        )
    return Heartbeat(interval_ms, timeout_ms)


def pack_plan(plan: Plan) -> bytes:
    """The plan as workers get it: readers in place of sources, which stay in the driver."""
    portable = plan.with_operations(_portable_operation)
    try:
        return pack_code(portable)
    except Exception as error:
        culprit, where = _unserialisable(portable)
        raise SerializationError(
            f"{culprit} cannot be sent to the workers: {type(error).__name__}: {error}; "
            f"create connections, locks and the like in open(){where}"
        ) from error


def _portable_operation(operator: ChainedOperator) -> Operation:
    if isinstance(operator.operation, ReadSource):
        return ReadSplits(operator.operation.source.create_reader(), operator.operation.watermarks)
    return operator.operation


def _unserialisable(plan: Plan) -> tuple[str, str]:
    import cloudpickle

    for vertex in plan.graph.vertices:
        for operator in vertex.operators:
            try:
                cloudpickle.dumps(operator.operation)
            except Exception:
                where = f"\n  in your job: {operator.user_line}" if operator.user_line else ""
                return f"the function of operator '{operator.name}'", where
    return "the job", ""
