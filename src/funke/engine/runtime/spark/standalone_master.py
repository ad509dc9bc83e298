"""What the master of a standalone cluster knows: its applications, and what its workers have free."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark import SparkContext

__all__ = ["MasterState", "ask_master"]

_SCHEME = "spark://"
_ALIVE = "ALIVE"
# How long a master may take to answer; one that is gone must not hold up a restart.
_ANSWER = "10s"
_REQUEST = "org.apache.spark.deploy.DeployMessages$RequestMasterState$"


@dataclass(frozen=True)
class MasterState:
    """The answer of the master that leads."""

    applications: tuple[str, ...]
    # Of each living worker.
    free_cores: tuple[int, ...]
    free_memory_mb: tuple[int, ...]


def ask_master(context: SparkContext) -> MasterState | None:
    """Asks over Spark's own protocol, with its authentication; None when no master leads, or it is another cluster."""
    masters = str(context.master)
    if not masters.startswith(_SCHEME):
        return None
    jvm: Any = context._jvm
    conf = context._jsc.sc().conf().clone()
    for limit in ("spark.rpc.lookupTimeout", "spark.rpc.askTimeout"):
        conf.set(limit, _ANSWER)
    security_class = jvm.org.apache.spark.SecurityManager
    defaults = [getattr(security_class, f"$lessinit$greater$default${number}")() for number in (2, 3)]
    security = security_class(conf, *defaults)
    host = context.getConf().get("spark.driver.host")
    calls = jvm.org.apache.spark.rpc.RpcEnv.create("funke", host, 0, conf, security, True)
    try:
        for master in masters.removeprefix(_SCHEME).split(","):
            with contextlib.suppress(Exception):  # a standby, or no master
                state = _state_of(jvm, calls, master)
                if state.status().toString() == _ALIVE:
                    return _read(state)
    finally:
        calls.shutdown()
    return None


def _state_of(jvm: Any, calls: Any, master: str) -> Any:
    host, _, port = master.rpartition(":")
    address = jvm.org.apache.spark.rpc.RpcAddress(host, int(port))
    request = getattr(getattr(jvm, _REQUEST), "MODULE$")
    return calls.setupEndpointRef(address, "Master").askSync(request, jvm.scala.reflect.ClassTag.Any())


def _read(state: Any) -> MasterState:
    workers = [worker for worker in state.workers() if worker.state().toString() == _ALIVE]
    return MasterState(
        tuple(str(application.id()) for application in state.activeApps()),
        tuple(int(worker.coresFree()) for worker in workers),
        tuple(int(worker.memoryFree()) for worker in workers),
    )
