"""Kafka in, a balance by account, a topic and a table out, exactly once: brokers, slots and connections go away.

    python tools/kafka_soak.py [--seconds 180] [--seed N] [--folder F] [--faults]

Transfers are written all the while. Once both brokers are away for 30 seconds, and once a slot dies while they are;
leaders move, the broker that leads dies, partitions are added, the database closes all connections. What else happens,
and when, is chance. In the end readers of committed records and the table must have each transfer once, and the
balances must be right. With `--faults` a job of the same kind is killed first at every named step, also in epochs.
Brokers and database are of its own.
"""

from __future__ import annotations

import argparse
import contextlib
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.harness.kafka_cluster import BrokerCluster
from tests.harness.postgres_server import PASSWORD, USER, PostgresServer, running_postgres
from tools import kafka_soak_job
from tools.kafka_fault_walk import walk
from tools.kafka_soak_job import SOURCE, TARGET, table, variables_of
from tools.killable_job import KillableJob
from tools.transfers import TransferWriter, committed, outcome, rows

_LONG_OUTAGE_S, _SHORT_OUTAGE_S = 30.0, 5.0
_CLOSING_S = 8.0
# Beyond this the job counts as stuck.
_PATIENCE_S = 180.0
_OPTIONS = {"execution.checkpointing.interval": "500 ms", "restart-strategy.fixed-delay.delay": "500 ms"}


class Disturbances:
    """Does to brokers, database and job what chance says."""

    def __init__(
        self, brokers: BrokerCluster, database: PostgresServer, job: KillableJob, chance: random.Random
    ) -> None:
        self._brokers, self._database, self._job, self._chance = brokers, database, job, chance
        self.happened: Counter[str] = Counter()
        self._partitions = 4

    def run(self, seconds: float) -> None:
        """All kinds at least once, and then what chance says."""
        end = time.monotonic() + seconds
        for happen in (
            self._kill_slot,
            self._add_partition,
            lambda: self._stop_brokers(_LONG_OUTAGE_S),
            self._move_leaders,
            self._kill_leader,
            self._close_connections,
            lambda: self._stop_brokers(_SHORT_OUTAGE_S, with_kill=True),
        ):
            self._pause()
            happen()
        kinds = {
            self._kill_slot: 3,
            self._add_partition: 1,
            self._short_outage: 2,
            self._move_leaders: 2,
            self._kill_leader: 2,
            self._close_connections: 3,
        }
        while time.monotonic() < end:
            self._pause()
            self._chance.choices(list(kinds), list(kinds.values()))[0]()

    def _pause(self) -> None:
        time.sleep(self._chance.uniform(4, 10))

    def _kill_slot(self) -> None:
        self._note("a slot is killed")
        self.happened["slots killed"] += self._job.kill("slot")

    def _add_partition(self) -> None:
        from confluent_kafka.admin import NewPartitions

        self._partitions += 1
        self._note(f"partition {self._partitions - 1} is added")
        client = self._brokers.address.client()
        client.create_partitions([NewPartitions(SOURCE, self._partitions)])[SOURCE].result(30)
        self.happened["partitions added"] += 1

    def _short_outage(self) -> None:
        self._stop_brokers(self._chance.uniform(0.5, 8))

    def _stop_brokers(self, seconds: float, with_kill: bool = False) -> None:
        self._note(f"all brokers are gone for {seconds:.1f} s")
        self._brokers.stop()
        time.sleep(seconds / 2)
        if with_kill:
            self._kill_slot()
        time.sleep(seconds / 2)
        self._brokers.start()
        self._note("the brokers are back")
        self.happened["outages"] += 1

    def _move_leaders(self) -> None:
        number = self._chance.randint(1, 2)
        self._note(f"broker {number} becomes the leader of all partitions")
        self._brokers.move_leaders(number)
        self.happened["leaders moved"] += 1

    def _kill_leader(self) -> None:
        """Not the first broker, which is the only controller."""
        self._brokers.move_leaders(2)
        self._note("the leader is killed")
        self._brokers.kill(2)
        time.sleep(self._chance.uniform(5, 15))
        self._brokers.start()
        self._note("it is back")
        self.happened["leaders killed"] += 1

    def _close_connections(self) -> None:
        self._note("the database closes all connections again and again")
        end = time.monotonic() + _CLOSING_S
        while time.monotonic() < end:
            closed = self._database.rows(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
            )
            self.happened["connections closed"] += len(closed)
            time.sleep(0.02)

    def _note(self, what: str) -> None:
        print(f"{time.strftime('%H:%M:%S')} {what}", flush=True)


def main() -> int:
    """Runs the job and disturbs it; 1 if something is wrong."""
    parser = argparse.ArgumentParser(description="disturbs a job between two topics and checks what readers see")
    parser.add_argument("--seconds", type=float, default=180.0)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    parser.add_argument("--folder", help="keep the files here")
    parser.add_argument("--faults", action="store_true", help="first, every named step")
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    # Whoever ends this must not leave a broker behind.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    folder = Path(options.folder or tempfile.mkdtemp(prefix="funke-kafka-soak-"))
    with contextlib.ExitStack() as stack:
        database = stack.enter_context(running_postgres())
        brokers = BrokerCluster()
        stack.callback(brokers.close)
        brokers.start()
        ways = ("pipelined", "blocking") if options.faults else ()
        walks = [walk(folder / way, brokers.address, database, way, 2) for way in ways]
        is_exact = all(walks) and _soak(
            folder / "soak", brokers, database, options.seconds, random.Random(options.seed)
        )
    if is_exact and options.folder is None:
        shutil.rmtree(folder, ignore_errors=True)
    elif not is_exact:
        print(f"files are in {folder}", flush=True)
    return 0 if is_exact else 1


def _soak(
    folder: Path, brokers: BrokerCluster, database: PostgresServer, seconds: float, chance: random.Random
) -> bool:
    servers = brokers.address.bootstrap_servers
    variables = variables_of(servers, database.jdbc_url, USER, PASSWORD)
    database.run(table(TARGET))
    brokers.address.create_topic(SOURCE, 4, 2)
    brokers.address.create_topic(TARGET, 2, 2)
    job = KillableJob(folder, 0, "", _OPTIONS, program=Path(kafka_soak_job.__file__), variables=variables)
    writer = None
    try:
        job.start()
        writer = TransferWriter(servers, SOURCE)
        committed(brokers.address, TARGET, 1, _PATIENCE_S)
        disturbances = Disturbances(brokers, database, job, chance)
        disturbances.run(seconds)
        count, begin = writer.finish(), time.monotonic()
        committed(brokers.address, TARGET, count, _PATIENCE_S)
        while len(rows(database, TARGET)) < count and time.monotonic() < begin + _PATIENCE_S:
            time.sleep(0.2)
        took_s = time.monotonic() - begin
        record = job.record()
        assert record is not None
        job.command("cancel", record.job_id)
        job.wait(60)
        seen = {"topic": committed(brokers.address, TARGET, count + 1, 5), "table": rows(database, TARGET)}
    finally:
        if writer is not None:
            writer.stop()
        job.close()
    happened = ", ".join(f"{kind} {number}" for kind, number in disturbances.happened.items())
    restarts = job.log().count("restarting the job in ")
    print(f"{happened}, restarts {restarts}; all was there {took_s:.1f} s after the last transfer", flush=True)
    outcomes = {index: outcome(balances, count) for index, balances in seen.items()}
    for index, each in outcomes.items():
        print(f"{count} transfers, {index}: {each}", flush=True)
    return all(each.is_exact for each in outcomes.values())


if __name__ == "__main__":
    sys.exit(main())
