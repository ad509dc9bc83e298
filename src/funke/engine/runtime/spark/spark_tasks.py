"""What both ways of running a job need of Spark: who its process is, tasks on an executor, Funke on a cluster."""

from __future__ import annotations

import contextlib
import importlib.util
import marshal
import os
import pickle
import struct
import sys
import time
import zipfile
from collections.abc import Iterable
from importlib.machinery import SourceFileLoader
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from funke.engine.errors import PACKAGE_ROOT, SlotTimeoutError
from funke.engine.runtime.job_files.dependencies import shipping_folder
from funke.engine.runtime.slots.slot_address import LOOPBACK, HostAddress
from funke.engine.runtime.spark.spark_session import OnSpark, is_embedded, session_settings
from funke.engine.runtime.spark.standalone_master import ask_master

if TYPE_CHECKING:
    from pyspark import RDD, SparkContext

__all__ = [
    "await_task_slots",
    "driver_address",
    "jvm_pid",
    "lack_of_room",
    "pack_funke",
    "placed_rdd",
    "running_tasks",
    "ship_funke",
]

_EXECUTOR_WAIT = "spark.scheduler.maxRegisteredResourcesWaitingTime", "10s"
# After a failure an executor may be gone for good.
_LOST_EXECUTOR_WAIT_S = 2.0
# An executor may take so many times as long as another to start.
_SLOWER = 3
# The head of a compiled module that is not compared with its source.
_UNCHECKED = (1).to_bytes(4, "little") + bytes(8)

T = TypeVar("T")


def jvm_pid(context: SparkContext) -> int:
    jvm: Any = context._jvm
    return int(jvm.java.lang.ProcessHandle.current().pid())


def driver_address(spark: OnSpark) -> HostAddress:
    """Where other hosts reach the driver: where they reach Spark's own."""
    if is_embedded(spark):
        return LOOPBACK
    settings = session_settings(spark)
    host = settings["spark.driver.host"]
    return HostAddress(host, settings.get("spark.driver.bindAddress", host))


def await_task_slots(context: SparkContext, most_cores: int, is_restarted: bool, request_s: float) -> int:
    """On a cluster, waits for as many cores as are wanted; returns how many tasks can run at a time.

    With fewer the job begins when Spark's own option says so, with none it waits for `request_s`. The first executor
    may have cores for all: those that have not come yet should have their share.
    """
    begin = time.time()
    # More than the application may have does not come.
    most_cores = min(most_cores, int(context.getConf().get("spark.cores.max", str(most_cores)) or most_cores))
    # A new application has not had any: it is as if the job began.
    is_restarted = is_restarted and bool(_executors(context, is_active=False))
    first_wait_s = context._jsc.sc().conf().getTimeAsMs(*_EXECUTOR_WAIT) / 1000
    end = begin + (_LOST_EXECUTOR_WAIT_S if is_restarted else first_wait_s)
    while (cores := _cores(executors := _executors(context))) < most_cores:
        now = time.time()
        if cores and not is_restarted:
            # On slow machines the others take as long as this one did.
            took_ms = max(executor.addTime().getTime() for executor in executors) - context.startTime
            end = max(end, (context.startTime + _SLOWER * took_ms) / 1000)
        if cores and now > end:
            break
        if not cores and now > begin + request_s:
            raise SlotTimeoutError(lack_of_room(context, most_cores, request_s))
        time.sleep(0.1)
    return cores


def lack_of_room(context: SparkContext, slots: int, waited_s: float) -> str:
    """Why slots cannot be started, as far as Spark says."""
    executors = _executors(context)
    settings = context.getConf()
    asked = f"an executor takes {settings.get('spark.executor.cores', 'all')} cores of a worker and "
    asked += f"{settings.get('spark.executor.memory', '1g')} of memory"
    reasons = [f"Spark has {len(executors)} executors with {_cores(executors)} cores for it", asked]
    with contextlib.suppress(Exception):
        reasons += _lost_executors(context)
        master = ask_master(context)
        if master is not None:
            free = [f"{c} cores and {m} MB" for c, m in zip(master.free_cores, master.free_memory_mb)]
            reasons.append(f"free on the workers of {context.master}: {', '.join(free) or 'there are no workers'}")
    return (
        f"no room for the job's {slots} slots within {waited_s:g} s (slot.request.timeout): {'; '.join(reasons)}. "
        "Ask for less (spark.executor.memory, spark.executor.cores), end other applications, or add workers"
    )


def _lost_executors(context: SparkContext) -> list[str]:
    """What Spark said about the executor that it lost last."""
    reasons = [executor.removeReason() for executor in _executors(context, is_active=False)]
    return [f"the last executor that ended: {reason.get()}" for reason in reasons if reason.isDefined()][-1:]


def _executors(context: SparkContext, is_active: bool = True) -> list[Any]:
    executors: Any = context._jsc.sc().statusStore().executorList(is_active)
    all_executors = [executors.apply(number) for number in range(executors.size())]
    return [executor for executor in all_executors if executor.id() != "driver"]


def _cores(executors: Iterable[Any]) -> int:
    return sum(int(executor.totalCores()) for executor in executors)


def running_tasks(context: SparkContext, group: str) -> int:
    """How many tasks of a group's jobs Spark runs at the moment."""
    tracker = context.statusTracker()
    jobs = [tracker.getJobInfo(job) for job in tracker.getActiveJobsIds() if job in tracker.getJobIdsForGroup(group)]
    stages = [tracker.getStageInfo(stage) for job in jobs if job is not None for stage in job.stageIds]
    return sum(stage.numActiveTasks for stage in stages if stage is not None)


def placed_rdd(context: SparkContext, values: Iterable[T], hosts: Iterable[list[str]]) -> RDD[T]:
    """An RDD of one value per partition, each of which Spark runs on one of the given hosts if it can."""
    from pyspark import RDD
    from pyspark.serializers import CPickleSerializer

    jvm: Any = context._jvm
    to_seq, any_class = jvm.org.apache.spark.api.python.PythonUtils.toSeq, jvm.scala.reflect.ClassTag.Any()
    placed = [jvm.scala.Tuple2(bytearray(pickle.dumps(value)), to_seq(names)) for value, names in zip(values, hosts)]
    scala_rdd = context._jsc.sc().makeRDD(to_seq(placed), any_class)
    java_rdd = jvm.org.apache.spark.api.java.JavaRDD(scala_rdd, any_class)
    return RDD(java_rdd, context, CPickleSerializer())


def ship_funke(spark: OnSpark) -> None:
    """On a cluster, gives the executors this very package."""
    context = spark.sparkContext
    if is_embedded(spark) or getattr(context, "_funke_is_shipped", False):
        return
    pack_funke(archive := os.path.join(shipping_folder(), "funke.zip"))
    context.addPyFile(archive)
    context._funke_is_shipped = True  # type: ignore[attr-defined]


def pack_funke(archive: str) -> None:
    """Writes this very package as a zip file.

    What this process has loaded is there in compiled form, too: Python compiles the modules of a zip file anew in each
    process, which takes a slot half a second.
    """
    root = Path(PACKAGE_ROOT).resolve()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as bundle:
        for path in root.rglob("*"):
            if path.suffix in {".py", ".typed"}:
                name = f"funke/{path.relative_to(root)}"
                bundle.write(path, name)
                module = name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
                if path.suffix == ".py" and module in sys.modules:
                    bundle.writestr(f"{name}c", _compiled(path, module))


def _compiled(path: Path, module: str) -> bytes:
    """A module as this version of Python compiles it, valid as it is; other versions take the source."""
    return importlib.util.MAGIC_NUMBER + _UNCHECKED + (_cached_code(path) or _code(path, module))


def _cached_code(path: Path) -> bytes | None:
    """What Python has kept of compiling a module, unread: to read and write 500 modules takes 0.4 s."""
    with contextlib.suppress(OSError, NotImplementedError):
        kept = Path(importlib.util.cache_from_source(str(path))).read_bytes()
        source = path.stat()
        stamp = [number & 0xFFFFFFFF for number in (int(source.st_mtime), source.st_size)]
        if kept[:16] == importlib.util.MAGIC_NUMBER + struct.pack("<3I", 0, *stamp):
            return kept[16:]
    return None


def _code(path: Path, module: str) -> bytes:
    return marshal.dumps(SourceFileLoader(module, str(path)).get_code(module))
