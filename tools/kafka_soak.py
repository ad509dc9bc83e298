"""Kafka in, a balance by account, Kafka out, exactly once: the broker goes away, slots die, partitions are added.

    python tools/kafka_soak.py [--seconds 120] [--seed N] [--folder F]

Transfers are written all the while. Once the broker is away for 30 seconds, and once a slot dies while it is; what else
happens, and when, is chance. In the end readers of committed records must see each transfer once, and the
balances must be right. The broker is one of its own.
"""

from __future__ import annotations

import argparse
import json
import random
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.harness.kafka_broker import BrokerProcess, KafkaBroker
from tools import kafka_soak_job
from tools.kafka_soak_job import SOURCE, TARGET
from tools.killable_job import KillableJob

_PER_SECOND, _ACCOUNTS = 500, 40
_LONG_OUTAGE_S, _SHORT_OUTAGE_S = 30.0, 5.0
# Beyond this the job counts as stuck.
_PATIENCE_S = 180.0
_OPTIONS = {"execution.checkpointing.interval": "500 ms", "restart-strategy.fixed-delay.delay": "500 ms"}


def transfer(number: int) -> dict[str, int]:
    """Always the same for a number."""
    return {"id": number, "account": number * 7 % _ACCOUNTS, "amount": number % 13 - 6}


class Writer:
    """Writes transfers, so many a second, whether the broker is there or not."""

    def __init__(self, servers: str) -> None:
        from confluent_kafka import Producer

        settings = {"enable.idempotence": True, "topic.metadata.refresh.interval.ms": 1_000, "log_level": 0}
        self._producer = Producer({"bootstrap.servers": servers, **settings})
        self._is_over = threading.Event()
        self.count = 0
        self._thread = threading.Thread(target=self._write)
        self._thread.start()

    def _write(self) -> None:
        begin = time.monotonic()
        while not self._is_over.wait(0.01):
            while self.count < (time.monotonic() - begin) * _PER_SECOND:
                made = transfer(self.count)
                self._producer.produce(SOURCE, json.dumps(made), str(made["account"]))
                self.count += 1
            self._producer.poll(0)

    def stop(self) -> None:
        """No more of them."""
        self._is_over.set()
        self._thread.join()

    def flush(self) -> None:
        """All of them have arrived."""
        left = self._producer.flush(_PATIENCE_S)
        assert left == 0, f"{left} transfers have not arrived"


class Disturbances:
    """Does to broker and job what chance says."""

    def __init__(self, broker: BrokerProcess, job: KillableJob, chance: random.Random) -> None:
        self._broker, self._job, self._chance = broker, job, chance
        self.happened: Counter[str] = Counter()
        self._partitions = 4

    def run(self, seconds: float) -> None:
        """All kinds at least once, and then what chance says."""
        end = time.monotonic() + seconds
        self._pause()
        self._kill_slot()
        self._pause()
        self._add_partition()
        self._pause()
        self._stop_broker(_LONG_OUTAGE_S)
        self._pause()
        self._stop_broker(_SHORT_OUTAGE_S, with_kill=True)
        while time.monotonic() < end:
            self._pause()
            kinds = (self._kill_slot, self._add_partition, lambda: self._stop_broker(self._chance.uniform(0.5, 8)))
            self._chance.choices(kinds, [3, 1, 2])[0]()

    def _pause(self) -> None:
        time.sleep(self._chance.uniform(4, 10))

    def _kill_slot(self) -> None:
        self._note("a slot is killed")
        self.happened["slots killed"] += self._job.kill("slot")

    def _add_partition(self) -> None:
        from confluent_kafka.admin import NewPartitions

        self._partitions += 1
        self._note(f"partition {self._partitions - 1} is added")
        client = self._broker.address.client()
        client.create_partitions([NewPartitions(SOURCE, self._partitions)])[SOURCE].result(30)
        self.happened["partitions added"] += 1

    def _stop_broker(self, seconds: float, with_kill: bool = False) -> None:
        self._note(f"the broker is gone for {seconds:.1f} s")
        self._broker.stop()
        time.sleep(seconds / 2)
        if with_kill:
            self._kill_slot()
        time.sleep(seconds / 2)
        self._broker.start()
        self._note("the broker is back")
        self.happened["outages"] += 1

    def _note(self, what: str) -> None:
        print(f"{time.strftime('%H:%M:%S')} {what}", flush=True)


def committed(broker: KafkaBroker, count: int, seconds: float) -> list[Any]:
    """What readers of committed records see: as many as are wanted, or what there is when the time is up."""
    return [json.loads(value) for value in broker.values(TARGET, count, seconds)]


def wrong_accounts(seen: list[Any], count: int) -> list[int]:
    """Accounts whose transfers were not counted one by one, or whose last balance is not the sum of all."""
    sums, counts = Counter[int](), Counter[int]()
    for made in map(transfer, range(count)):
        sums[made["account"]] += made["amount"]
        counts[made["account"]] += 1
    numbers: dict[int, dict[int, int]] = {account: {} for account in counts}
    for each in seen:
        numbers[each["account"]][each["count"]] = each["balance"]
    return [
        account
        for account, number in counts.items()
        if sorted(numbers[account]) != list(range(1, number + 1)) or numbers[account][number] != sums[account]
    ]


def main() -> int:
    """Runs the job and disturbs it; 1 if something is wrong."""
    parser = argparse.ArgumentParser(description="disturbs a job between two topics and checks what readers see")
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    parser.add_argument("--folder", help="keep the files here")
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    # Whoever ends this must not leave a broker behind.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    broker = BrokerProcess()
    folder = Path(options.folder or tempfile.mkdtemp(prefix="funke-kafka-soak-"))
    servers = broker.address.bootstrap_servers
    program = Path(kafka_soak_job.__file__)
    job = KillableJob(folder, 0, "", _OPTIONS, program=program, variables={"SOAK_SERVERS": servers})
    writer = None
    try:
        broker.start()
        broker.address.create_topic(SOURCE, 4)
        broker.address.create_topic(TARGET, 2)
        job.start()
        writer = Writer(servers)
        committed(broker.address, 1, _PATIENCE_S)
        disturbances = Disturbances(broker, job, random.Random(options.seed))
        disturbances.run(options.seconds)
        writer.stop()
        writer.flush()
        count, begin = writer.count, time.monotonic()
        committed(broker.address, count, _PATIENCE_S)
        took_s = time.monotonic() - begin
        record = job.record()
        assert record is not None
        job.command("cancel", record.job_id)
        job.wait(60)
        seen = committed(broker.address, count + 1, 5)
    finally:
        if writer is not None:
            writer.stop()
        job.close()
        broker.close()
    ids = Counter(each["id"] for each in seen)
    lost, doubled, wrong = count - len(ids), ids.total() - len(ids), wrong_accounts(seen, count)
    happened = ", ".join(f"{kind} {number}" for kind, number in disturbances.happened.items())
    restarts = job.log().count("restarting the job in ")
    print(f"{happened}, restarts {restarts}; all was there {took_s:.1f} s after the last transfer", flush=True)
    print(f"{count} transfers: {lost} lost, {doubled} doubled, {len(wrong)} of {_ACCOUNTS} balances wrong", flush=True)
    if lost or doubled or wrong:
        print(f"files are in {folder}", flush=True)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
