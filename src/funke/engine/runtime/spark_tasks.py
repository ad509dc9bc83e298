"""What both ways of running a job need of Spark: who its process is, tasks at a place, Funke itself on a cluster."""

from __future__ import annotations

import os
import pickle
import time
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from funke.engine.runtime.dependencies import shipping_folder
from funke.engine.runtime.spark_session import OnSpark, is_embedded

if TYPE_CHECKING:
    from pyspark import RDD, SparkContext

__all__ = ["await_places", "jvm_pid", "placed_rdd", "ship_funke"]

_EXECUTOR_WAIT = "spark.scheduler.maxRegisteredResourcesWaitingTime", "10s"
# After a failure an executor may be gone for good.
_LOST_EXECUTOR_WAIT_S = 2.0
# An executor may take so many times as long as another to start.
_SLOWER = 3

T = TypeVar("T")


def jvm_pid(context: SparkContext) -> int:
    jvm: Any = context._jvm
    return int(jvm.java.lang.ProcessHandle.current().pid())


def await_places(context: SparkContext, wanted: int, is_restarted: bool) -> int:
    """On a cluster, waits a while for as many executors as are wanted; returns how many places for tasks there are.

    How long, Spark's own option says. The first executor may have places for all: those that have not come yet should
    have their share.
    """
    cores = int(context.getConf().get("spark.executor.cores", "1") or 1)
    first_wait_s = context._jsc.sc().conf().getTimeAsMs(*_EXECUTOR_WAIT) / 1000
    end = time.time() + (_LOST_EXECUTOR_WAIT_S if is_restarted else first_wait_s)
    while len(executors := _executors(context)) * cores < wanted and time.time() < end:
        if executors and not is_restarted:
            # On slow machines the others take as long as this one did.
            took_ms = max(executor.addTime().getTime() for executor in executors) - context.startTime
            end = max(end, (context.startTime + _SLOWER * took_ms) / 1000)
        time.sleep(0.1)
    return max(1, sum(int(executor.totalCores()) for executor in executors))


def _executors(context: SparkContext) -> list[Any]:
    executors: Any = context._jsc.sc().statusStore().executorList(True)
    found = [executors.apply(number) for number in range(executors.size())]
    return [executor for executor in found if executor.id() != "driver"]


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
    root = Path(__file__).resolve().parents[2]
    archive = os.path.join(shipping_folder(), "funke.zip")
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as bundle:
        for path in root.rglob("*"):
            if path.suffix in {".py", ".typed"}:
                bundle.write(path, Path("funke") / path.relative_to(root))
    context.addPyFile(archive)
    context._funke_is_shipped = True  # type: ignore[attr-defined]
