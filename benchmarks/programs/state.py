"""What checkpoints cost and how fast state comes back; prints `FIGURE name value`.

python -m funke state.py million BACKEND     a checkpoint of a million keys in one slot, and starting from its savepoint
python -m funke state.py keys BACKEND KEYS   CPU per record of a count over so many keys in one slot, when all are known
python -m funke state.py recovery            from the kill of a slot to the first new output, 100 000 keys
python -m funke state.py regions             the same with a million keys and no delay, and what another region notices
"""

import itertools
import os
import signal
import statistics
import sys
import tempfile
import time

from process_tree import cpu_s

from funke.common import Configuration, Types, WatermarkStrategy
from funke.datastream import KeyedProcessFunction, MapFunction, RuntimeContext, StreamExecutionEnvironment
from funke.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
from funke.datastream.connectors.discard import DiscardingSink
from funke.datastream.state import ValueStateDescriptor

KEYS = 1_000_000
TOUCHED = KEYS // 100
FEW_KEYS = 100_000
ENDLESS = 1 << 40
MEASURED = 1_000_000
KILLS = 5


class CountPerKey(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext):
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value, ctx):
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield value, count


class Stamp(MapFunction):
    """Notes, every few milliseconds, that this process has output: the attempt, the process, the time."""

    def __init__(self, path):
        self.path = path
        self.last = 0.0

    def open(self, runtime_context: RuntimeContext):
        self.name = f"{runtime_context.get_attempt_number()} {os.getpid()}"

    def map(self, value):
        now = time.time()
        if now - self.last > 0.005:
            self.last = now
            with open(self.path, "a") as out:
                out.write(f"{self.name} {now}\n")
        return value


def stamps_of(path):
    """What has been noted: attempt, process, time."""
    with open(path) as lines:
        noted = [line.split() for line in lines if line.endswith("\n")]
    return [(int(attempt), int(pid), float(at)) for attempt, pid, at in noted]


def every_key_then_few(index):
    return index if index < KEYS else index % TOUCHED


def few_keys(index):
    return index % FEW_KEYS


def start(folder, parallelism, to_key, options, stamp=None, stamp_of_other_region=None):
    configuration = Configuration()
    for key, value in {
        "execution.checkpointing.interval": "1 s",
        "execution.checkpointing.dir": f"{folder}/checkpoints",
        "execution.checkpointing.savepoint-dir": f"{folder}/savepoints",
        **options,
    }.items():
        configuration.set_string(key, value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(parallelism)
    source = DataGeneratorSource(to_key, ENDLESS, Types.LONG())
    keys = env.from_source(source, WatermarkStrategy.no_watermarks(), "keys").uid("keys")
    counts = keys.key_by(lambda key: key).process(CountPerKey()).uid("counts")
    (counts.map(Stamp(stamp)) if stamp else counts).sink_to(DiscardingSink())
    if stamp_of_other_region:
        paced = DataGeneratorSource(few_keys, ENDLESS, Types.LONG(), RateLimiterStrategy.per_second(1_000))
        others = env.from_source(paced, WatermarkStrategy.no_watermarks(), "paced").set_parallelism(1)
        stamped = others.map(Stamp(stamp_of_other_region)).set_parallelism(1)
        stamped.sink_to(DiscardingSink()).set_parallelism(1)
    return env.execute_async()


def await_metrics(client, is_reached):
    while not is_reached(metrics := client.get_metrics()):
        if client.get_job_execution_result().done():
            client.get_job_execution_result().result()
        time.sleep(0.02)
    return metrics


def checkpoints_after(client, count):
    """The metrics of each of the next checkpoints."""
    for _ in range(count):
        done = client.get_metrics().get("numberOfCompletedCheckpoints", 0)
        yield await_metrics(client, lambda metrics: metrics.get("numberOfCompletedCheckpoints", 0) > done)  # noqa: B023


def million(backend):
    with tempfile.TemporaryDirectory() as folder:
        options = {"state.backend.type": backend, "execution.checkpointing.incremental": str(backend == "rocksdb")}
        client = start(folder, 1, every_key_then_few, options)
        await_metrics(client, lambda metrics: metrics.get("records_read", 0) > KEYS)
        measured = list(checkpoints_after(client, 9))
        print("FIGURE stall_ms", max(metrics["lastCheckpointStall"] for metrics in measured))
        # What has filled the state is in the database by then. Now and then a compaction writes all of it.
        increments = [metrics["lastCheckpointSize"] / metrics["lastCheckpointFullSize"] for metrics in measured[4:]]
        print("FIGURE increment", statistics.median(increments))
        path = client.stop_with_savepoint(False).result()
        read = client.get_metrics()["records_read"]
        began = time.perf_counter()
        client = start(folder, 1, every_key_then_few, {**options, "execution.state-recovery.path": path})
        await_metrics(client, lambda metrics: metrics.get("records_read", 0) > read)
        print("FIGURE restore_s", time.perf_counter() - began)
        client.cancel().result()


def spread_over(keys):
    return lambda index: index * 2_654_435_761 % keys


def many_keys(backend, keys):
    with tempfile.TemporaryDirectory() as folder:
        options = {"state.backend.type": backend, "execution.checkpointing.interval": "1 h"}
        client = start(folder, 1, spread_over(keys), options)
        first = await_metrics(client, lambda metrics: metrics.get("records_read", 0) > keys)["records_read"]
        began = cpu_s()
        end = first + MEASURED
        last = await_metrics(client, lambda metrics: metrics["records_read"] > end)["records_read"]
        print("FIGURE cpu_us", (cpu_s() - began) / (last - first) * 1e6)
        client.cancel().result()


def recovery():
    with tempfile.TemporaryDirectory() as folder:
        stamp = os.path.join(folder, "stamps")
        client = start(folder, 2, few_keys, {}, stamp)
        await_metrics(client, lambda metrics: metrics.get("numberOfCompletedCheckpoints", 0) > 2)
        victims = {pid for _, pid, _ in stamps_of(stamp)}
        killed = time.time()
        os.kill(min(victims), signal.SIGKILL)
        first = None
        while first is None:
            time.sleep(0.05)
            first = next((at for _, pid, at in stamps_of(stamp) if pid not in victims), None)
        print("FIGURE recovery_s", first - killed)
        client.cancel().result()


def longest_pause(times):
    return max(later - earlier for earlier, later in itertools.pairwise(times))


def regions():
    with tempfile.TemporaryDirectory() as folder:
        stamp, other = os.path.join(folder, "stamps"), os.path.join(folder, "other-stamps")
        options = {"restart-strategy.type": "fixed-delay", "restart-strategy.fixed-delay.delay": "0 s"}
        options["restart-strategy.fixed-delay.attempts"] = "100"
        client = start(folder, 2, spread_over(KEYS), options, stamp, other)
        await_metrics(client, lambda metrics: metrics.get("records_read", 0) > 2 * KEYS)
        to_output_s, pauses_s = [], []
        for _ in range(KILLS):
            # The last checkpoint has all keys, and the region runs again.
            list(checkpoints_after(client, 2))
            attempt, victim, _ = stamps_of(stamp)[-1]
            killed = time.time()
            os.kill(victim, signal.SIGKILL)
            while len(fresh := {pid: at for number, pid, at in stamps_of(stamp)[::-1] if number > attempt}) < 2:
                time.sleep(0.02)
            to_output_s.append(min(fresh.values()) - killed)
            times = [at for _, _, at in stamps_of(other)]
            pauses_s.append(longest_pause([at for at in times if killed <= at]))
        assert {number for number, _, _ in stamps_of(other)} == {0}, "the other region was restarted"
        print("FIGURE recovery_s", statistics.median(to_output_s))
        print("FIGURE pause_s", max(pauses_s))
        client.cancel().result()


if __name__ == "__main__":
    if sys.argv[1] == "million":
        million(sys.argv[2])
    elif sys.argv[1] == "keys":
        many_keys(sys.argv[2], int(sys.argv[3]))
    elif sys.argv[1] == "recovery":
        recovery()
    else:
        regions()
