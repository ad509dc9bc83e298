"""What settings trade for each other, measured on running jobs; prints `FIGURE name value`.

python -m funke trade_offs.py interval MS              rows per second with such checkpoints, and what a kill repeats
python -m funke trade_offs.py catch-up MS SHARE        seconds until a killed job is up to date, at a share of capacity
python -m funke trade_offs.py state MEGABYTES BACKEND  what a checkpoint costs that has so much to write
python -m funke trade_offs.py pressure MODE SHARE      milliseconds of a checkpoint at a load; MODE: aligned, …
"""

import glob
import mmap
import os
import random
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from state import CountPerKey, await_metrics, checkpoints_after

from funke.common import Configuration, Duration, Types, WatermarkStrategy
from funke.datastream import KeyedProcessFunction, MapFunction, StreamExecutionEnvironment
from funke.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
from funke.datastream.connectors.discard import DiscardingSink
from funke.datastream.connectors.file_system import FileSource, StreamFormat
from funke.datastream.state import ValueStateDescriptor

KEYS, ENDLESS = 1_000_000, 1 << 40
# Kills fall anywhere between two checkpoints.
KILLS = 3
# A job whose capacity is below what comes never catches up.
PATIENCE_S = 60
# Of a record of the job under pressure.
WORK_S = 0.0005
MODES = {
    "aligned": {},
    "unaligned": {"execution.checkpointing.unaligned.enabled": "true"},
    "at-least-once": {"execution.checkpointing.mode": "AT_LEAST_ONCE"},
}
# Writes the lines of a second as ten files, which appear by renaming; ends with the program that started it.
WRITER = """
import os, sys, time
folder, rate = sys.argv[1], float(sys.argv[2])
began, sent, number, parent = time.time(), 0, 0, os.getppid()
while os.getppid() == parent:
    time.sleep(max(0.0, began + (number + 1) * 0.1 - time.time()))
    due, now = int((time.time() - began) * rate), time.time()
    with open(f"{folder}/.part", "w") as out:
        out.writelines(f"{key % 1000000},{now}\\n" for key in range(sent, due))
    os.rename(f"{folder}/.part", f"{folder}/{number:06}.csv")
    sent, number = due, number + 1
"""


class Noted(MapFunction):
    """Writes where a kill leaves it: how many records came, how old the last one was, and the number of the process."""

    def __init__(self, folder, to_age=None):
        self.folder, self.to_age = folder, to_age

    def open(self, runtime_context):
        name = f"{runtime_context.get_attempt_number()}-{runtime_context.get_index_of_this_subtask()}"
        with open(os.path.join(self.folder, name), "w+b") as file:
            file.truncate(24)
            self.noted = mmap.mmap(file.fileno(), 24)
        self.count, self.pid = 0, os.getpid()

    def map(self, value):
        self.count += 1
        age = self.to_age(value) if self.to_age is not None else 0.0
        struct.pack_into("qdq", self.noted, 0, self.count, age, self.pid)
        return value


def noted(folder, attempt="*"):
    """How many records came to a subtask, how old the last one was, and the process."""
    return [struct.unpack("qdq", Path(path).read_bytes()) for path in glob.glob(f"{folder}/{attempt}-*")]


def count_of(folder, attempt="*"):
    return sum(count for count, _, _ in noted(folder, attempt))


def environment(folder, options):
    configuration = Configuration()
    for key, value in {"execution.checkpointing.dir": f"{folder}/checkpoints", **options}.items():
        configuration.set_string(key, value)
    return StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(2)


def kill_a_slot(folder, attempt):
    os.kill(noted(folder, attempt)[0][2], signal.SIGKILL)


def spread(index):
    return index * 2_654_435_761 % KEYS


def interval(every_ms):
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(f"{folder}/noted")
        options = {"execution.checkpointing.interval": f"{every_ms} ms", "restart-strategy.fixed-delay.delay": "0 s"}
        options |= {"restart-strategy.type": "fixed-delay", "restart-strategy.fixed-delay.attempts": "10"}
        env = environment(folder, options)
        source = DataGeneratorSource(spread, ENDLESS, Types.LONG())
        keys = env.from_source(source, WatermarkStrategy.no_watermarks(), "keys").map(Noted(f"{folder}/noted"))
        keys.key_by(lambda key: key).process(CountPerKey()).sink_to(DiscardingSink())
        client = env.execute_async()
        # All keys are there, and so checkpoints have their size.
        await_metrics(client, lambda metrics: metrics.get("records_read", 0) > 3 * KEYS)
        for attempt in range(KILLS):
            done = client.get_metrics().get("numberOfCompletedCheckpoints", 0)
            await_metrics(client, lambda metrics: metrics.get("numberOfCompletedCheckpoints", 0) > done)  # noqa: B023
            began, first = time.perf_counter(), count_of(f"{folder}/noted", attempt)
            time.sleep(4 + random.random() * every_ms / 1000)
            read = count_of(f"{folder}/noted", attempt)
            speed = (read - first) / (time.perf_counter() - began)
            kill_a_slot(f"{folder}/noted", attempt)
            restored = await_metrics(client, lambda metrics: metrics["numRestarts"] > attempt)["records_read"]  # noqa: B023
            await_metrics(client, lambda metrics: metrics.get("records_read", 0) > restored)  # noqa: B023
        client.stop_with_savepoint(False, f"{folder}/savepoints").result()
        # Everything that came to a map, but for what was read once.
        repeated = count_of(f"{folder}/noted") - client.get_metrics()["records_read"]
        print("FIGURE rows_per_s", speed)
        print("FIGURE repeated", repeated / KILLS)


def parsed(line):
    key, sent = line.split(",")
    return int(key), float(sent)


def counted_files(folder, options, discovery):
    env = environment(folder, options)
    files = FileSource.for_record_stream_format(StreamFormat.text_line_format(), f"{folder}/lines")
    lines = env.from_source(discovery(files).build(), WatermarkStrategy.no_watermarks(), "lines")
    pairs = lines.map(parsed, output_type=Types.TUPLE([Types.LONG(), Types.DOUBLE()]))
    counts = pairs.map(Noted(f"{folder}/noted", lambda pair: time.time() - pair[1])).key_by(lambda pair: pair[0])
    counts.process(CountPerKey()).sink_to(DiscardingSink())
    return env


def capacity():
    """Lines per second of the job of `catch_up`, when they are there."""
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(f"{folder}/lines"), os.mkdir(f"{folder}/noted")
        for number in range(20):
            with open(f"{folder}/lines/{number}.csv", "w") as out:
                out.writelines(
                    f"{key % KEYS},{time.time()}\n" for key in range(number * 150_000, (number + 1) * 150_000)
                )
        client = counted_files(folder, {"execution.checkpointing.interval": "1 s"}, lambda files: files).execute_async()
        speeds = [(0.0, 0)]
        while not client.get_job_execution_result().done():
            speeds.append((time.perf_counter(), count_of(f"{folder}/noted")))
            time.sleep(0.1)
        counting = [each for each in speeds if 500_000 < each[1] < 2_500_000]
        (began, first), (ended, last) = counting[0], counting[-1]
        return (last - first) / (ended - began)


def catch_up(every_ms, share):
    rate = capacity() * share
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(f"{folder}/lines"), os.mkdir(f"{folder}/noted")
        options = {"execution.checkpointing.interval": f"{every_ms} ms"}
        env = counted_files(folder, options, lambda files: files.monitor_continuously(Duration.of_millis(100)))
        client = env.execute_async()
        writer = subprocess.Popen([sys.executable, "-c", WRITER, f"{folder}/lines", str(rate)])
        try:
            await_metrics(client, lambda metrics: metrics.get("records_read", 0) > 15 * rate)
            usual_s = max(age for _, age, _ in noted(f"{folder}/noted"))
            killed = time.monotonic()
            kill_a_slot(f"{folder}/noted", 0)
            await_metrics(client, lambda metrics: metrics["numRestarts"] > 0)
            while sum(count > 0 for count, _, _ in noted(f"{folder}/noted", 1)) < 2:
                time.sleep(0.05)
            while max(age for _, age, _ in noted(f"{folder}/noted", 1)) > 2 * usual_s:
                time.sleep(0.05)
                if time.monotonic() > killed + PATIENCE_S:
                    break
            took_s = time.monotonic() - killed
            print("FIGURE catch_up_s", took_s if took_s < PATIENCE_S else "inf")
        finally:
            writer.terminate()
            writer.wait()
        client.cancel().result()


class Kept(KeyedProcessFunction):
    """A kilobyte for each key; notes how old records are that have a time."""

    def __init__(self, folder):
        self.folder = folder

    def open(self, runtime_context):
        self.value = runtime_context.get_state(ValueStateDescriptor("value", Types.PICKLED_BYTE_ARRAY()))
        self.ages, self.name = [], f"{self.folder}/{runtime_context.get_index_of_this_subtask()}"

    def process_element(self, pair, ctx):
        self.value.update(random.randbytes(1000))
        if pair[1]:
            self.ages.append((pair[1], time.time() - pair[1]))
        yield pair[0]

    def close(self):
        with open(self.name, "w") as out:
            out.writelines(f"{sent} {age}\n" for sent, age in self.ages)


def state(megabytes, backend):
    keys = megabytes * 1000
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(f"{folder}/ages")
        options = {"state.backend.type": backend, "execution.checkpointing.interval": "3 s"}
        options["execution.checkpointing.incremental"] = str(backend == "rocksdb")
        env = environment(folder, options)
        filled = DataGeneratorSource(lambda index: (index, 0.0), keys, Types.TUPLE([Types.LONG(), Types.DOUBLE()]))
        few = DataGeneratorSource(
            lambda index: index % (keys // 100), ENDLESS, Types.LONG(), RateLimiterStrategy.per_second(2_000)
        )
        stamped = env.from_source(few, WatermarkStrategy.no_watermarks(), "few").map(
            lambda key: (key, time.time()), output_type=Types.TUPLE([Types.LONG(), Types.DOUBLE()])
        )
        both = env.from_source(filled, WatermarkStrategy.no_watermarks(), "filled").union(stamped)
        both.key_by(lambda pair: pair[0]).process(Kept(f"{folder}/ages")).sink_to(DiscardingSink())
        client = env.execute_async()
        await_metrics(client, lambda metrics: metrics.get("records_read", 0) > keys)
        # The first one after all keys writes them, the next ones what has changed.
        measured = list(checkpoints_after(client, 3))
        began = time.time()
        measured += checkpoints_after(client, 4)
        ended = time.time()
        client.stop_with_savepoint(False, f"{folder}/savepoints").result()
        ages = []
        for name in os.listdir(f"{folder}/ages"):
            with open(f"{folder}/ages/{name}") as lines:
                ages += [float(age) for sent, age in map(str.split, lines) if began < float(sent) < ended]
        print("FIGURE stall_ms", max(metrics["lastCheckpointStall"] for metrics in measured[3:]))
        print("FIGURE p99_ms", 1000 * sorted(ages)[int(len(ages) * 0.99)])
        print("FIGURE seconds", statistics.median(metrics["lastCheckpointDuration"] for metrics in measured[3:]) / 1000)
        print("FIGURE full_mb", measured[-1]["lastCheckpointFullSize"] / 1e6)
        print("FIGURE written_mb", measured[-1]["lastCheckpointSize"] / 1e6)


def work(key):
    time.sleep(WORK_S)
    return key


def pressure(mode, share):
    with tempfile.TemporaryDirectory() as folder:
        options = {**MODES[mode], "execution.checkpointing.interval": "1 s", "execution.checkpointing.timeout": "1 min"}
        env = environment(folder, options)
        rate = RateLimiterStrategy.per_second(share * 2 / WORK_S)
        source = DataGeneratorSource(spread, ENDLESS, Types.LONG(), rate)
        keys = env.from_source(source, WatermarkStrategy.no_watermarks(), "keys").key_by(lambda key: key)
        keys.map(work).sink_to(DiscardingSink())
        client = env.execute_async()
        measured = list(checkpoints_after(client, 8))[3:]
        print("FIGURE ms", statistics.median(metrics["lastCheckpointDuration"] for metrics in measured))
        client.cancel().result()


if __name__ == "__main__":
    kind, *arguments = sys.argv[1:]
    if kind == "interval":
        interval(int(arguments[0]))
    elif kind == "catch-up":
        catch_up(int(arguments[0]), float(arguments[1]))
    elif kind == "state":
        state(int(arguments[0]), arguments[1])
    else:
        pressure(arguments[0], float(arguments[1]))
