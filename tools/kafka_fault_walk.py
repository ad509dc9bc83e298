"""A job from a topic into a topic and a table that dies at every named step, one after the other, until it ends."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING

from funke.engine.runtime.fault_points import POINTS
from tests.harness.postgres_server import PASSWORD, USER
from tools import kafka_soak_job
from tools.crash_cases import ONCE
from tools.kafka_soak_job import SOURCE, TARGET, table, variables_of
from tools.killable_job import KillableJob
from tools.transfers import committed, outcome, rows, transfer

if TYPE_CHECKING:
    from tests.harness.kafka_broker import KafkaBroker
    from tests.harness.postgres_server import PostgresServer

__all__ = ["walk"]

_TRANSFERS = 24_000
_PAUSE_S = 0.002
_PATIENCE_S = 900.0
_OPTIONS = {"execution.checkpointing.interval": "500 ms", "restart-strategy.fixed-delay.delay": "200 ms"}
# What comes often, but in epochs, is taken later, when there is a checkpoint to go back to.
_OFTEN = ("before-reading", "between-blocks", "after-reading")
_OFTEN_TIME, _TIME = 50, 3
# Those that the other way of working does not have.
_ABSENT = {"pipelined": ("after-epoch",), "blocking": ("after-barrier", "after-barriers")}


def walk(folder: Path, broker: KafkaBroker, database: PostgresServer, exchange: str, replicas: int) -> bool:
    """Kills whoever comes to a step, at each of them once; True if all happened and nothing is lost or doubled."""
    source, target = (f"{name}_{exchange}" for name in (SOURCE, TARGET))
    broker.create_topic(source, 4, replicas)
    broker.create_topic(target, 2, replicas)
    transfers = map(transfer, range(_TRANSFERS))
    broker.produce(source, [(str(each["account"]), json.dumps(each)) for each in transfers])
    database.run(table(target))
    variables = variables_of(broker.bootstrap_servers, database.jdbc_url, USER, PASSWORD)
    variables |= {"SOAK_PAUSE_S": str(_PAUSE_S), "SOAK_TOPICS": f"{source},{target}"}
    marks, points = folder / "marks", [point for point in POINTS if point not in _ABSENT[exchange]]
    options = {
        **_OPTIONS,
        "funke.exchange": exchange,
        "funke.fault": ",".join(_plan(each, exchange, marks) for each in points),
    }
    program = Path(kafka_soak_job.__file__)
    job = KillableJob(folder, 0, "", options, program=program, variables=variables)
    begin = time.monotonic()
    try:
        job.start()
        job.run_to_the_end(_PATIENCE_S)
    finally:
        job.close()
    took_s = time.monotonic() - begin
    missing = [point for point in points if not list(marks.glob(f"{point}-*.*"))]
    seen = {"topic": committed(broker, target, _TRANSFERS + 1, 5), "table": rows(database, target)}
    restarts = job.log().count("restarting the job in ")
    deaths = f"{len(points) - len(missing)} deaths, {restarts} restarts, {job.recoveries} of the driver"
    print(f"{exchange}: {deaths}, {took_s:.0f} s; never reached: {', '.join(missing) or 'none'}", flush=True)
    outcomes = {index: outcome(balances, _TRANSFERS) for index, balances in seen.items()}
    for index, each in outcomes.items():
        print(f"{exchange}: {_TRANSFERS} transfers, {index}: {each}", flush=True)
    return not missing and all(each.is_exact for each in outcomes.values())


def _plan(point: str, exchange: str, marks: Path) -> str:
    is_often = point in _OFTEN and exchange == "pipelined"
    number = 1 if point in (*ONCE, "restore") else _OFTEN_TIME if is_often else _TIME
    return f"{point}:{number}:kill@{marks}"
