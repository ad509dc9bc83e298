"""Prepares the process of a slot to run a job: start-up hooks, the user's classes, the plan."""

from __future__ import annotations

import gc
import importlib
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import cloudpickle

from funke.engine.config.log_levels import LogLevels
from funke.engine.config.slot_memory import MemoryLimit
from funke.engine.connectors.remote.access import StorageAccess, install_access, installed_access
from funke.engine.graph.state_meaning import StateMoves
from funke.engine.planner.plan import Plan
from funke.engine.runtime.fault_points import arm
from funke.engine.runtime.job_files.cached_files import CachedFile
from funke.engine.runtime.job_files.shared_paths import SharedPath
from funke.engine.runtime.monitoring.failed_records import RecordDisplay
from funke.engine.runtime.pipelined.network_settings import NetworkSettings
from funke.engine.runtime.slots.slot_address import LOOPBACK, HostAddress
from funke.engine.runtime.slots.slot_watch import Heartbeat
from funke.engine.runtime.snapshots.snapshot_files import SnapshotHandle
from funke.engine.state.backend_choice import BackendChoice
from funke.engine.trust.credentials import Credentials


@dataclass(frozen=True)
class DriverHost:
    """What the driver has made ready for slots that run beside it, on embedded Spark."""

    run_folder: str
    # Where its fork server listens, and which Python that forks: what one version has pickled, another may not read.
    fork_server_path: str
    interpreter: str
    # What the fork server is to load before it forks, for all slots at once.
    libraries: tuple[str, ...] = ()
    # Where the program runs, if these processes were started elsewhere.
    working_folder: str | None = None


@dataclass(frozen=True)
class ControlAddress:
    """Where the driver waits for its slots: a Unix socket on embedded Spark, else TCP."""

    path: str | None
    host: str = ""
    port: int = 0


@dataclass(frozen=True)
class JobDeployment:
    """What a worker must have before it can unpickle the user's code, and that code in pickled form."""

    job_id: str
    job_name: str
    attempt: int
    credentials: Credentials
    code: bytes
    startup: tuple[str, ...] = ()
    python_paths: tuple[str, ...] = ()
    archives: tuple[tuple[str, str], ...] = ()
    cached_files: tuple[CachedFile, ...] = ()
    # Name and path of cached files on a slot's host; known when the slot starts.
    cached_paths: tuple[tuple[str, str], ...] = ()
    # The interpreter of slots, if not that of Spark's workers; a relative path leads into an unpacked archive.
    python_executable: str | None = None
    # The variable TZ of the program: its local time is that of its functions.
    time_zone: str | None = None
    job_parameters: tuple[tuple[str, str], ...] = ()
    log_levels: LogLevels = field(default_factory=LogLevels)
    # None if failures tell no records.
    record_display: RecordDisplay | None = None
    auto_watermark_interval_ms: int = 200
    is_batch: bool = False
    backend: BackendChoice = field(default_factory=BackendChoice)
    # The snapshots that this attempt starts from.
    restore: tuple[SnapshotHandle, ...] = ()
    # The number of their checkpoint.
    restored_checkpoint_id: int | None = None
    # By operator id, how what they hold is moved to where operators have it now.
    state_moves: Mapping[str, StateMoves] = field(default_factory=dict)
    # Where sinks keep what waits for its commit; None when the job takes no checkpoints.
    staging_folder: str | None = None
    # Where slots keep copies of what they have written to other file systems; nowhere if there are none.
    local_folders: tuple[str, ...] = ()
    # How other file systems are reached.
    storage: StorageAccess = field(default_factory=installed_access)
    # None on a cluster, where slots start from nothing and are reached from other hosts.
    driver_host: DriverHost | None = None
    # On a cluster, where the driver is.
    driver_address: HostAddress = LOOPBACK
    # On a cluster, what its hosts must see as the driver does.
    shared_paths: tuple[SharedPath, ...] = ()
    heartbeat: Heartbeat = field(default_factory=Heartbeat)
    memory_limit: MemoryLimit | None = None
    # How a job streams whose slots push to each other: where they find the driver, how much may be on its way.
    control: ControlAddress | None = None
    network: NetworkSettings = field(default_factory=NetworkSettings)
    buffer_timeout_ms: int = 100
    # The process with which slots end, if the driver knows it: that of embedded Spark.
    executor_pid: int | None = None
    # What is to go wrong, in tests.
    fault: str | None = None

    @property
    def key(self) -> str:
        """Names this attempt of this job."""
        return f"{self.job_id}-{self.attempt}"


def pack_code(plan: Plan) -> bytes:
    """The plan, with the classes of the user's script, as bytes.

    Each operation is pickled by itself: one function object used by two operators becomes two, as in Flink.
    """
    packed = plan.with_operations(lambda operator: cloudpickle.dumps(operator.operation))
    return bytes(cloudpickle.dumps((main_classes(), packed)))


def main_classes() -> dict[str, type]:
    """The classes that the user's script defines: records of such a class are pickled by name, so workers need them."""
    main = sys.modules.get("__main__")
    return {
        name: value
        for name, value in vars(main).items()
        if isinstance(value, type) and value.__module__ == "__main__" and _is_picklable(value)
    }


def _is_picklable(value: Any) -> bool:
    try:
        cloudpickle.dumps(value)
    except Exception:
        return False
    return True


def unpack(deployment: JobDeployment) -> Plan:
    """Makes this process, which belongs to the job alone, one that can run its functions; returns the plan."""
    arm(deployment.fault)
    install_access(deployment.storage)
    paths = [path for path in deployment.python_paths if path not in sys.path and os.path.exists(path)]
    sys.path[:0] = paths
    for hook in deployment.startup:
        module, _, function = hook.partition(":")
        getattr(importlib.import_module(module), function)()
    plan: Plan
    classes, plan = cloudpickle.loads(deployment.code)
    for name, value in classes.items():
        setattr(sys.modules["__main__"], name, value)
    plan = plan.with_operations(lambda operator: cloudpickle.loads(operator.operation))
    _spare_garbage_collection()
    return plan


def _spare_garbage_collection() -> None:
    """Looks for garbage less often: a scan over blocks of records and state finds next to nothing.

    With the default thresholds reading CSV into rows runs at 1.3 instead of 1.7 million rows per second.
    """
    gc.freeze()
    gc.set_threshold(200_000, 20, 1000)


def prepare_spark_worker() -> None:
    """Once in each Spark worker: it ends without a word when Spark has closed its connection, and is quick.

    PySpark reports the closed connection through the connection, and prints a traceback when that fails. And it looks
    for garbage after every task, which takes 25 ms as long as all that is loaded counts.
    """
    worker = sys.modules.get("pyspark.worker")
    report = getattr(worker, "handle_worker_exception", None)
    if worker is None or report is None or getattr(report, "is_quiet", False):
        return

    def report_unless_closed(error: BaseException, *others: Any, **named: Any) -> None:
        if isinstance(error, EOFError):
            os._exit(0)
        report(error, *others, **named)

    gc.freeze()
    report_unless_closed.is_quiet = True  # type: ignore[attr-defined]
    worker.handle_worker_exception = report_unless_closed  # type: ignore[attr-defined]
