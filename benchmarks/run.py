"""`make bench`: Funke, PyFlink and Spark's transformWithState side by side on the same files, in one run.

    python benchmarks/run.py [--only NAME ...] [--rows N] [--events N] [--write]

PyFlink runs in an environment of its own that is made on first use. With --write the rows of what was measured replace
those in results/recorded.json, from which page.py writes docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import page
import postgres_table
import sql_operators
from auction_events import auction_files, parquet_of, side_input
from dashboard_paint import RUNS, first_paint
from data import event_files, text_files
from formats import FormatCost, format_costs
from kafka_topics import connector_jar, servers, topic
from micro import epoch_latency_ms, first_select_s, memory_per_key, ten_elements_s
from page import SECTIONS, Results
from pattern_costs import bytes_per_partial_match, events_per_cpu_s
from service import Watched, burst_ratio, observed_ratio, overview_ms, submission_s
from topic_latency import topic_latency_ms

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / ".bench"
PROGRAMS = Path(__file__).parent / "programs"
PYFLINK = "apache-flink==2.3.0"
# Enough for the virtual machines to compile what is hot; PyFlink takes some seconds for them.
WARM_UP_ROWS = 20_000
# PyFlink does some thousand rows per second, however many there are: some of the rows are enough to know it.
PYFLINK_ROWS = 200_000
WINDOW_ROWS = 500_000
PYFLINK_WINDOW_ROWS = 100_000
# The median counts: Funke's jobs take two seconds, and machines have moods.
FUNKE_RUNS = 3
START_RUNS = 5
LATENCY_RUNS = 3
LATENCY_S = "5"
EVENTS = 3_000_000
AUCTION_EVENTS = 10_000_000
# Of queries whose processor seconds are compared.
CPU_EVENTS = 3_000_000
BATCH_EVENTS = 3_000_000
# PyFlink takes minutes for user functions over all of them.
PYFLINK_FUNCTION_EVENTS = 500_000
BY_FUNCTION = ("q21_udf", "q21_pandas", "udaf")
KAFKA_ROWS = 1_000_000
CDC_ROWS = 1_000_000
OBSERVED_ROWS = 10_000_000
SMALL_BATCH_ROWS = 4_000_000
SMALL_BATCH_QUERIES = ("aggregate", "join", "top-10")
PYFLINK_KAFKA_ROWS = 100_000
PATTERN_KEYS = 100_000
MINI_BATCH = tuple(f"table.exec.mini-batch.{key}" for key in ("enabled=true", "allow-latency=2 s", "size=50000"))

ROCKSDB = ("state.backend.type=rocksdb",)


# How much less processor time than Flink SQL with state in memory the queries of Nexmark must take.
CPU_BARS = {
    **dict.fromkeys(("q3", "q4", "q5", "q7", "q8", "q9", "q10", "q19", "q23"), 3.0),
    **dict.fromkeys(("q16", "q18", "q20"), 4.0),
    **dict.fromkeys(("q15", "q17"), 3.5),
    # MATCH_RECOGNIZE.
    **dict.fromkeys(("cep0", "cep1", "cep2"), 3.0),
}
# Queries for which Flink may gather rows before it aggregates: the better mode of each engine counts.
IN_BOTH_MODES = ("q15", "q16", "q17")


@dataclass(frozen=True)
class Ratio:
    """A line of the result: a measured figure against what it must reach."""

    name: str
    measured: float
    bar: str
    is_met: bool
    detail: str


class Bench:
    """Runs programs in processes of their own and remembers rows per second."""

    def __init__(self, rows: int, events: int | None = None) -> None:
        self._rows = rows
        # Of Nexmark, if not as many as each query usually has.
        self._events = events
        self.speeds: dict[str, float] = {}
        # Of the whole process tree, in microseconds per row; small machines lie about time.
        self.cpu_us: dict[str, float] = {}
        self._state_metrics: dict[tuple[str, ...], dict[str, float]] = {}
        self.format_costs: list[FormatCost] = []

    def input(self, keys: int = 1_000, rows: int | None = None) -> str:
        """The folder with the input files."""
        return str(text_files(FOLDER / "data", rows or self._rows, keys))

    def funke(
        self,
        job: str,
        keys: int = 1_000,
        parallelism: int = 2,
        rows: int | None = None,
        program: str = "jobs.py",
        option: str | None = None,
    ) -> float:
        """Rows per second of a job on Funke."""
        command = [sys.executable, "-m", "funke", "run", *([f"-D{option}"] if option else []), program]
        details = [f"{keys} keys", f"{parallelism} slots", f"{rows} rows" if rows else "", option or ""]
        name = f"funke {job} {', '.join(filter(None, details))}"
        return self._timed(name, command, job, keys, parallelism, rows, FUNKE_RUNS)

    def state_metrics(self, *arguments: str) -> dict[str, float]:
        """What programs/state.py measures."""
        if arguments not in self._state_metrics:
            command = [sys.executable, "-m", "funke", "state.py", *arguments]
            result = subprocess.run(command, cwd=PROGRAMS, capture_output=True, text=True, check=True)
            values = [line.split() for line in result.stdout.splitlines() if line.startswith("FIGURE")]
            self._state_metrics[arguments] = {name: float(value) for _, name, value in values}
        return self._state_metrics[arguments]

    def cost_of_formats(self) -> list[FormatCost]:
        """CPU time of each format for a message."""
        self.format_costs = format_costs()
        return self.format_costs

    def worst_of_backends(self, name: str) -> float:
        """The larger figure of the two state backends with a million keys."""
        return max(self.state_metrics("million", backend)[name] for backend in ("hashmap", "rocksdb"))

    def pyflink(
        self, job: str, keys: int = 1_000, parallelism: int = 2, rows: int | None = None, program: str = "jobs.py"
    ) -> float:
        """Rows per second of the same job on PyFlink in its default (process) mode."""
        command = [self._pyflink_python(), program]
        rows = rows or min(self._rows, PYFLINK_ROWS)
        return self._timed(f"pyflink {job} {keys} keys", command, job, keys, parallelism, rows)

    def window(self, job: str, keys: int = 1_000, on_pyflink: bool = False) -> float:
        """Rows per second of a window job."""
        if on_pyflink:
            return self.pyflink(job, keys, rows=PYFLINK_WINDOW_ROWS, program="windows.py")
        return self.funke(job, keys, rows=WINDOW_ROWS, program="windows.py")

    def forms(self) -> tuple[float, float]:
        """Rows per second of a projection and filter of CSV files, on columns and on rows; both find the same."""
        arguments = [str(event_files(FOLDER / "data", rows)) for rows in (EVENTS, WARM_UP_ROWS)]
        command = [sys.executable, "-m", "funke", "columns.py", arguments[0], "2", arguments[1], str(FUNKE_RUNS)]
        result = subprocess.run(command, cwd=PROGRAMS, capture_output=True, text=True, check=True)
        seconds: dict[str, list[float]] = {"rows": [], "columns": []}
        counts: set[int] = set()
        for run in result.stdout.split("RUN ")[1:]:
            form, *lines = run.split("\n")
            values = [line.split() for line in lines if line.startswith(("COUNT", "SECONDS"))]
            counts.add(sum(int(value) for name, value in values if name == "COUNT"))
            seconds[form] += [float(value) for name, value in values if name == "SECONDS"]
        if len(counts) != 1:
            raise SystemExit(f"columns and rows give different results: {sorted(counts)} records")
        for form, each in seconds.items():
            self.speeds[f"funke projection and filter, {form}"] = EVENTS / statistics.median(each)
        return EVENTS / statistics.median(seconds["columns"]), EVENTS / statistics.median(seconds["rows"])

    def nexmark(self, query: str, on_pyflink: bool = False, options: Sequence[str] = ()) -> float:
        """Events per second of a query of Nexmark's; processor seconds are kept beside them."""
        events = CPU_EVENTS if query in CPU_BARS else AUCTION_EVENTS
        events = PYFLINK_FUNCTION_EVENTS if on_pyflink and query in BY_FUNCTION else self._events or events
        side_input(FOLDER / "data")
        engine = [self._pyflink_python()] if on_pyflink else [sys.executable, "-m", "funke", "run"]
        paths = [str(auction_files(FOLDER / "data", number)) for number in (events, WARM_UP_ROWS)]
        command = [*engine, "nexmark.py", query, paths[0], "2", paths[1], *options]
        return self._measure(_nexmark_name(query, on_pyflink, options), command, events)

    def nexmark_cpu_us(self, query: str, on_pyflink: bool, options: Sequence[str] = ()) -> float:
        """Processor time of all processes for an event, in microseconds."""
        self.nexmark(query, on_pyflink, options)
        return self.cpu_us[_nexmark_name(query, on_pyflink, options)]

    def pattern_cpu_us(self, job: str) -> float:
        """Processor time of all processes for an event of programs/patterns.py, in microseconds."""
        rows = self.input(PATTERN_KEYS)
        command = [sys.executable, "-m", "funke", "run", "patterns.py", job, rows, self._small_file()]
        name = f"funke pattern, {job}"
        self._measure(name, command, self._rows)
        return self.cpu_us[name]

    def batch_sql(self, query: str, form: str, engine: str = "funke", options: Sequence[str] = ()) -> float:
        """Events per second of a query in batch mode; `engine` is funke, flink or spark (for the form plain)."""
        folders = [auction_files(FOLDER / "data", number) for number in (BATCH_EVENTS, WARM_UP_ROWS)]
        paths = [str(each if form == "csv" else parquet_of(each)) for each in folders]
        run = {"funke": [sys.executable, "-m", "funke", "run"], "spark": [sys.executable]}
        command = [self._pyflink_python()] if engine == "flink" else run[engine]
        name = f"{engine} batch {query} of {form}{', ' + options[0] if options else ''}"
        return self._measure(
            name, [*command, "batch_sql.py", query, form, paths[0], "2", paths[1], *options], BATCH_EVENTS
        )

    def small_batches(self, query: str) -> tuple[float, float]:
        """Processor time of the slots for a row, in microseconds, if its source has rows in large or small batches."""
        large, small = (self._slots_us(query, size) for size in (sql_operators.LARGE, sql_operators.SMALL))
        return large, small

    def _slots_us(self, query: str, size: int) -> float:
        arguments = [query, str(size), "2", str(SMALL_BATCH_ROWS)]
        command = [sys.executable, "-m", "funke", "run", "small_batches.py", *arguments]
        metrics = [self._run_metrics(f"{query} in batches of {size}", command) for _ in range(FUNKE_RUNS)]
        return statistics.median(each["SLOTS"] for each in metrics) / SMALL_BATCH_ROWS * 1e6

    def kafka(self, job: str, on_pyflink: bool = False) -> float:
        """Records per second of a job on a topic; one that is `bare` is the client alone."""
        rows = PYFLINK_KAFKA_ROWS if on_pyflink and job != "sql" else KAFKA_ROWS
        arguments = [job, servers(), topic(rows), "2"]
        if job == "bare":
            return self._measure("kafka client alone", [sys.executable, "kafka_jobs.py", *arguments], rows, FUNKE_RUNS)
        arguments.append(topic(WARM_UP_ROWS))
        if on_pyflink:
            command = [self._pyflink_python(), "kafka_jobs.py", *arguments, connector_jar()]
            return self._measure(f"pyflink kafka {job}", command, rows)
        command = [sys.executable, "-m", "funke", "run", "kafka_jobs.py", *arguments]
        return self._measure(f"funke kafka {job}", command, rows, FUNKE_RUNS)

    def kafka_latency(self) -> tuple[float, ...]:
        """Milliseconds from topic to topic on Funke and on PyFlink: both medians, both 99th percentiles."""
        funke = [sys.executable, "-m", "funke", "run", "kafka_latency.py", "job"]
        ours = topic_latency_ms(PROGRAMS, funke)
        theirs = topic_latency_ms(PROGRAMS, [self._pyflink_python(), "kafka_latency.py", "job"], connector_jar())
        return (*ours, *theirs)

    def cdc_snapshot(self, job: str) -> float:
        """Rows per second of a table of PostgreSQL that is read before its changes; `bare` is COPY by a client."""
        arguments = [job, *postgres_table.address(), postgres_table.table(CDC_ROWS)]
        if job == "bare":
            command = [sys.executable, "cdc_snapshot.py", *arguments]
            return self._measure("COPY by a client", command, CDC_ROWS, FUNKE_RUNS)
        command = [sys.executable, "-m", "funke", "run", "cdc_snapshot.py", *arguments]
        return self._measure("funke cdc snapshot", [*command, postgres_table.table(WARM_UP_ROWS)], CDC_ROWS, FUNKE_RUNS)

    def bytes_per_window(self) -> float:
        """Memory of an open incremental window: the larger of tumbling and session windows."""
        command = [sys.executable, "-m", "funke", "windows.py", "memory"]
        result = subprocess.run(command, cwd=PROGRAMS, capture_output=True, text=True, check=True)
        return max(float(line.split()[2]) for line in result.stdout.splitlines() if line.startswith("BYTES"))

    def rocksdb_share(self, keys: int) -> Ratio:
        """A count over so many keys in one slot: the CPU of a record in memory over that with RocksDB."""
        heap, rocksdb = (self.state_metrics("keys", name, str(keys))["cpu_us"] for name in ("hashmap", "rocksdb"))
        name = f"count over {keys:,} keys in one slot: rocksdb / hashmap"
        return at_least(name, heap / rocksdb, 0.4, f"{heap:.1f} / {rocksdb:.1f} µs of CPU per record")

    def transform_with_state(self, keys: int) -> float:
        """Rows per second of Spark's own stateful Python API."""
        command = [sys.executable, "transform_with_state.py", self.input(keys), "2"]
        return self._measure(f"transformWithState {keys} keys", command, self._rows)

    def bare_loop(self) -> float:
        """Rows per second of one Python process that just does the work."""
        return self._measure("bare loop", [sys.executable, "bare_loop.py", self.input()], self._rows)

    def latency_ms(self, rate: int, keys: int, option: str | None = None) -> tuple[float, float]:
        """Milliseconds from a socket to a keyed function behind an exchange: median and 99th percentile."""
        options = [f"-D{option}"] if option else []
        return self._percentiles("LATENCY", [*options, "latency.py", str(rate), str(keys), LATENCY_S])

    def query_latency_ms(self, rate: int) -> tuple[float, float]:
        """Milliseconds from a source through q17 to a sink: median and 99th percentile."""
        return self._percentiles("LATENCY", ["query_latency.py", str(rate), LATENCY_S])

    def timer_lateness_ms(self) -> tuple[float, float]:
        """How late timers fire: median and 99th percentile."""
        return self._percentiles("LATE", ["timers.py", "1000", LATENCY_S])

    @staticmethod
    def _percentiles(word: str, arguments: list[str]) -> tuple[float, float]:
        runs = []
        for _ in range(LATENCY_RUNS):
            command = [sys.executable, "-m", "funke", "run", *arguments]
            result = subprocess.run(command, cwd=PROGRAMS, capture_output=True, text=True, check=True)
            (line,) = [line for line in result.stdout.splitlines() if line.startswith(word)]
            runs.append(tuple(map(float, line.split()[1:3])))
        halves, most = zip(*runs)
        return statistics.median(halves), statistics.median(most)

    def start_seconds(self) -> tuple[float, float]:
        """How long the smallest program takes as a whole on Funke and on PyFlink: the medians of alternating runs."""
        # A second run on a machine: Funke has made its archive of Spark's classes after the first.
        cache = FOLDER / "cache"
        cache.mkdir(mode=0o700, exist_ok=True)
        environment = {**os.environ, "XDG_CACHE_HOME": str(cache), "FUNKE_CLASS_ARCHIVE": "use"}
        build = [sys.executable, "-m", "funke.engine.runtime.starting.archive_build"]
        subprocess.run(build, env=environment, check=True, stderr=subprocess.DEVNULL)
        funke = [sys.executable, "-m", "funke", "run", "ten_elements.py"]
        pyflink = [self._pyflink_python(), "ten_elements.py"]
        for command in (funke, pyflink):
            self._whole_s(command, environment)
        pairs = [(self._whole_s(funke, environment), self._whole_s(pyflink, environment)) for _ in range(START_RUNS)]
        ours, theirs = zip(*pairs)
        return statistics.median(ours), statistics.median(theirs)

    @staticmethod
    def _whole_s(command: list[str], environment: dict[str, str]) -> float:
        path = os.path.dirname(command[0]) + os.pathsep + environment.get("PATH", "")
        began = time.perf_counter()
        done = subprocess.run(
            command, cwd=PROGRAMS, env={**environment, "PATH": path}, capture_output=True, text=True, check=True
        )
        seconds = time.perf_counter() - began
        assert done.stdout.split("\n")[-2] == "(0, 36)", done.stdout
        return seconds

    def _timed(
        self,
        name: str,
        command: list[str],
        job: str,
        keys: int,
        parallelism: int,
        rows: int | None = None,
        runs: int = 1,
    ) -> float:
        arguments = self.arguments(job, keys, parallelism, rows)
        return self._measure(name, [*command, *arguments], rows or self._rows, runs)

    def arguments(self, job: str, keys: int = 1_000, parallelism: int = 2, rows: int | None = None) -> list[str]:
        """What programs/jobs.py is called with."""
        return [job, self.input(keys, rows), str(parallelism), self._small_file()]

    def _small_file(self) -> str:
        path = FOLDER / "data" / f"warm-up-{WARM_UP_ROWS}.txt"
        if not path.exists():
            path.write_text("".join(f"key-{row % 10},{row},{row}.5\n" for row in range(WARM_UP_ROWS)))
        return str(path)

    def _measure(self, name: str, command: list[str], rows: int, runs: int = 1) -> float:
        if name in self.speeds:
            return self.speeds[name]
        print(f"  {name} ...", end="", flush=True)
        metrics = [self._run_metrics(name, command) for _ in range(runs)]
        speed = rows / statistics.median(each["SECONDS"] for each in metrics)
        if "CPU" in metrics[0]:
            self.cpu_us[name] = statistics.median(each["CPU"] for each in metrics) / rows * 1e6
        print(f" {speed:,.0f} rows/s")
        self.speeds[name] = speed
        return speed

    def _run_metrics(self, name: str, command: list[str]) -> dict[str, float]:
        # PyFlink starts its workers as `python`, which must be the one of its own environment; and left to itself it
        # runs all of a local job's workers as threads of the client, which is slower still.
        path = os.path.dirname(command[0]) + os.pathsep + os.environ.get("PATH", "")
        environment = {**os.environ, "PATH": path, "_python_worker_execution_mode": "process"}
        result = subprocess.run(command, cwd=PROGRAMS, capture_output=True, text=True, check=False, env=environment)
        lines = [line.split() for line in result.stdout.splitlines()]
        values = [line for line in lines if line[:1] in (["SECONDS"], ["CPU"], ["SLOTS"])]
        if not values:
            raise SystemExit(f"\n{name} failed:\n{result.stdout}\n{result.stderr}")
        memory = [f"{line[1]} {line[2]} MB" for line in lines if line[:1] == ["MEMORY"]]
        print(f" ({', '.join(memory)})" if memory else "", end="")
        return {word: float(value) for word, value in values}

    def _pyflink_python(self) -> str:
        python = os.environ.get("PYFLINK_PYTHON")
        if python:
            return python
        folder = FOLDER / "pyflink-venv"
        if not (folder / "done").exists():
            print(f"  installing {PYFLINK} into an environment of its own (once, about a minute) ...", flush=True)
            subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
            subprocess.run([str(folder / "bin/pip"), "install", "-q", PYFLINK], check=True)
            (folder / "done").touch()
        return str(folder / "bin/python")


def _nexmark_name(query: str, on_pyflink: bool, options: Sequence[str]) -> str:
    mode = {(): "", MINI_BATCH: " mini-batch", ROCKSDB: " rocksdb"}[tuple(options)]
    return f"{'flink' if on_pyflink else 'funke'} {query}{mode}"


def at_least(name: str, measured: float, bar: float, detail: str) -> Ratio:
    """A figure that must reach a bar."""
    return Ratio(name, measured, f">= {bar:g}", measured >= bar, detail)


def under(name: str, measured: float, bar: float, detail: str) -> Ratio:
    """A figure that must stay below a bar."""
    return Ratio(name, measured, f"< {bar:g}", measured < bar, detail)


def submission(median_s: float, worst_s: float) -> Ratio:
    """How soon a program of the service runs."""
    name = "`funke run -d` on a warm service, from the command to RUNNING (s)"
    return under(name, median_s, 2, f"median of 5, the worst {worst_s:.2f}")


def observed(result: Watched) -> Ratio:
    """What being watched costs."""
    name = "keyed count in the service, dashboard open in a browser, metrics on / plain program"
    pairs = ", ".join(f"{each.plain.seconds:.1f} / {each.watched.seconds:.1f}" for each in result.pairs)
    detail = (
        f"by the clock, median of pairs of runs: {pairs} s; slots' share of the processors {result.share_ratio:.3f}"
    )
    return at_least(name, result.ratio, 0.97, detail)


def burst(share: float, steady_mb: float, peak_mb: float) -> Ratio:
    """What a burst costs."""
    name = "ten times the capacity for 60 s: peak memory of all processes / before"
    return under(name, share, 1.5, f"{steady_mb:,.0f} and {peak_mb:,.0f} MB")


def start_ratio(name: str, seconds: tuple[float, float], bar: float) -> Ratio:
    """Our time over another one."""
    ours, theirs = seconds
    return under(name, ours / theirs, bar, f"{ours:.1f} / {theirs:.1f} s, median of {START_RUNS}")


def latency(name: str, found_ms: tuple[float, float], bar_ms: float) -> Ratio:
    """The 99th percentile, with the median beside it."""
    return under(name, found_ms[1], bar_ms, f"median {found_ms[0]:.2f} ms")


def kafka_latency(p50: float, p99: float, their_p50: float, their_p99: float) -> Ratio:
    """The worse of both ratios."""
    name = "Kafka to Kafka at 1 000 records/s, p50 and p99 from producer to consumer: Funke / PyFlink"
    detail = f"p50 {p50:.1f} / {their_p50:.1f} ms, p99 {p99:.1f} / {their_p99:.1f} ms"
    return under(name, max(p50 / their_p50, p99 / their_p99), 0.4, detail)


def formats(costs: list[FormatCost]) -> Ratio:
    """What each format costs; the dearest counts."""
    worst = max(max(each.decode_us, each.encode_us or 0) for each in costs)
    details = (f"{each.name} {each.decode_us:.1f}, {each.encode_us or 0:.1f}" for each in costs)
    name = "decoding or encoding a message of 200 bytes, the dearest format (µs)"
    return under(name, worst, 20, f"decoding and encoding: {'; '.join(details)}")


def pattern_by_lambdas(ours_us: float, by_hand_us: float) -> Ratio:
    """A pattern beside the same written by hand."""
    name = "small then large payment, 100 000 keys, processor time: KeyedProcessFunction / funke.cep with lambdas"
    return at_least(name, by_hand_us / ours_us, 0.5, f"{by_hand_us:.2f} / {ours_us:.2f} µs for an event")


def ratio(name: str, ours: float, theirs: float, bar: float) -> Ratio:
    """Our speed over another one."""
    return at_least(name, ours / theirs, bar, f"{ours:,.0f} / {theirs:,.0f} rows/s")


def measures(bench: Bench) -> dict[str, Callable[[], Ratio]]:
    """Every figure by its short name."""

    def keyed() -> float:
        return bench.funke("keyed_count")

    return {
        "keyed-count": lambda: ratio(
            "keyed count, 1 000 keys: Funke / PyFlink", keyed(), bench.pyflink("keyed_count"), 35
        ),
        "kafka": lambda: ratio(
            "Kafka, JSON, key_by, count: Funke / PyFlink",
            bench.kafka("keyed_count"),
            bench.kafka("keyed_count", on_pyflink=True),
            15,
        ),
        "kafka-sql": lambda: ratio(
            "Kafka JSON table, group aggregate: Funke / Flink SQL",
            bench.kafka("sql"),
            bench.kafka("sql", on_pyflink=True),
            1,
        ),
        "kafka-exactly-once": lambda: ratio(
            "Kafka to Kafka, checkpoints every second: exactly once / at least once",
            bench.kafka("copy_exactly_once"),
            bench.kafka("copy_at_least_once"),
            0.6,
        ),
        "kafka-read": lambda: ratio(
            "reading Kafka: Funke with 2 slots / the client alone in 2 processes",
            bench.kafka("read"),
            bench.kafka("bare"),
            0.6,
        ),
        "cdc-snapshot": lambda: ratio(
            "snapshot of a table of PostgreSQL, 1 000 000 rows: Funke with 2 slots / COPY read by a client",
            bench.cdc_snapshot("snapshot"),
            bench.cdc_snapshot("bare"),
            0.4,
        ),
        "formats": lambda: formats(bench.cost_of_formats()),
        "kafka-latency": lambda: kafka_latency(*bench.kafka_latency()),
        "many-keys": lambda: ratio(
            "keyed count, 100 000 keys: Funke / transformWithState",
            bench.funke("keyed_count", 100_000),
            bench.transform_with_state(100_000),
            20,
        ),
        "spark-1000-keys": lambda: ratio(
            "keyed count, 1 000 keys: Funke / transformWithState", keyed(), bench.transform_with_state(1_000), 1
        ),
        "stateless": lambda: ratio(
            "stateless chain: Funke / PyFlink", bench.funke("stateless"), bench.pyflink("stateless"), 12
        ),
        "reduce": lambda: ratio(
            "keyed reduce, 1 000 keys: Funke / PyFlink", bench.funke("keyed_reduce"), bench.pyflink("keyed_reduce"), 1
        ),
        "bare-loop": lambda: ratio("keyed count per core: Funke / bare loop", keyed() / 2, bench.bare_loop(), 0.45),
        "scale": lambda: ratio(
            "throughput at 20 M rows / at 2 M rows", bench.funke("keyed_count", rows=20_000_000), keyed(), 0.85
        ),
        "slots": lambda: ratio("2 slots / 1 slot", keyed(), bench.funke("keyed_count", parallelism=1), 1.7),
        "columns": lambda: ratio(
            "projection and filter on CSV columns, 3 M events: column path / row path", *bench.forms(), 4
        ),
        "start": lambda: start_ratio(
            "ten-element program, whole process, second run on a machine: Funke / PyFlink", bench.start_seconds(), 0.6
        ),
        "latency": lambda: latency(
            "socket, map, key_by, 1 000 records/s: p99 latency (ms)", bench.latency_ms(1_000, 1_000), 10
        ),
        "latency-checkpoints": lambda: latency(
            "the same with checkpoints every second, 100 000 keys: p99 latency (ms)",
            bench.latency_ms(1_000, 100_000, "execution.checkpointing.interval=1s"),
            60,
        ),
        "latency-50000": lambda: latency(
            "the same at 50 000 records/s: p99 latency (ms)", bench.latency_ms(50_000, 1_000), 25
        ),
        "latency-q17": lambda: latency(
            "Nexmark q17 at 100 000 events/s, from source to sink: p99 latency (ms)",
            bench.query_latency_ms(100_000),
            20,
        ),
        "timers": lambda: latency(
            "timers by the clock, 1 000 a second: late by, p99 (ms)", bench.timer_lateness_ms(), 10
        ),
        "ten-elements": lambda: under(
            "ten-element bounded job, warm session (s)", ten_elements_s(), 0.4, "median of 5"
        ),
        "epoch": lambda: under("epoch with one exchange and little data (ms)", epoch_latency_ms(), 350, "median of 20"),
        "tumbling-window": lambda: ratio(
            "tumbling event-time window (10 s), reduce, 1 000 keys: Funke / PyFlink",
            bench.window("tumbling_reduce"),
            bench.window("tumbling_reduce", on_pyflink=True),
            25,
        ),
        "sliding-window": lambda: ratio(
            "sliding window, 12 panes per element, aggregate / tumbling window",
            bench.window("sliding_aggregate"),
            bench.window("tumbling_aggregate"),
            0.4,
        ),
        "session-window": lambda: ratio(
            "session window, 100 000 keys: Funke / PyFlink",
            bench.window("session_reduce", 100_000),
            bench.window("session_reduce", 100_000, on_pyflink=True),
            20,
        ),
        "window-memory": lambda: under(
            "memory per open incremental window (bytes)", bench.bytes_per_window(), 600, "tumbling, session"
        ),
        "checkpoints": lambda: ratio(
            "keyed count, 20 M rows: exactly-once checkpoints every second / none",
            bench.funke("keyed_count", rows=20_000_000, option="execution.checkpointing.interval=1s"),
            bench.funke("keyed_count", rows=20_000_000),
            0.92,
        ),
        "rocksdb": lambda: ratio(
            "keyed count, 100 000 keys: rocksdb / hashmap",
            bench.funke("keyed_count", 100_000, option="state.backend.type=rocksdb"),
            bench.funke("keyed_count", 100_000),
            0.3,
        ),
        "rocksdb-1m": lambda: bench.rocksdb_share(1_000_000),
        "rocksdb-5m": lambda: bench.rocksdb_share(5_000_000),
        "stall": lambda: under(
            "checkpoint of 1 M keys in one slot: processing stands still (ms)",
            bench.worst_of_backends("stall_ms"),
            150,
            "the longer of hashmap and rocksdb",
        ),
        "increment": lambda: under(
            "incremental checkpoint, 1 % of 1 M keys touched / full",
            bench.state_metrics("million", "rocksdb")["increment"],
            0.05,
            "bytes, rocksdb; median of five, from the fifth checkpoint on",
        ),
        "restore": lambda: under(
            "start from a savepoint of 1 M keys in one slot, to the end of the first epoch (s)",
            bench.worst_of_backends("restore_s"),
            10,
            "the longer of hashmap and rocksdb",
        ),
        "recovery": lambda: under(
            "SIGKILL of a slot to the first new output, 100 000 keys (s)",
            bench.state_metrics("recovery")["recovery_s"],
            5,
            "with the default restart delay of 1 s",
        ),
        "region-recovery": lambda: under(
            "SIGKILL of a slot to the first new output, region of two slots, a million keys (s)",
            bench.state_metrics("regions")["recovery_s"],
            0.7,
            "without a restart delay; median of 5",
        ),
        "region-pause": lambda: under(
            "the longest pause of another region's output meanwhile (ms)",
            bench.state_metrics("regions")["pause_s"] * 1000,
            100,
            "of 5 kills",
        ),
        "first-select": lambda: under(
            "a first SELECT in a warm session, ten rows (s)", first_select_s(), 1, "median of 5"
        ),
        "dashboard": lambda: under(
            "the dashboard, cold, on this machine: until its first line stands (s)",
            first_paint().useful_ms / 1000,
            1,
            f"first paint after {first_paint().first_ms:.0f} ms, median of {RUNS}",
        ),
        "dashboard-size": lambda: under(
            "what is loaded until then (kB)", first_paint().kilobytes, 600, "nothing in the cache"
        ),
        **nexmark_measures(bench),
        **batch_measures(bench),
        **operator_measures(),
        **{f"sql-small-batches-{each}": partial(small_batches, bench, each) for each in SMALL_BATCH_QUERIES},
        "submission": lambda: submission(*submission_s()),
        "overview": lambda: under(
            "/jobs/overview, 100 ended and 5 running jobs (ms)", overview_ms(), 20, "median of 59"
        ),
        "observed": lambda: observed(observed_ratio(bench.arguments("keyed_count", rows=OBSERVED_ROWS))),
        "burst": lambda: burst(*burst_ratio()),
        "pattern-columns": lambda: at_least(
            "pattern of three steps, conditions over columns, 100 000 keys: events per second of a core",
            events_per_cpu_s(),
            500_000,
            "the operator alone, processor time",
        ),
        "pattern-lambdas": lambda: pattern_by_lambdas(bench.pattern_cpu_us("lambdas"), bench.pattern_cpu_us("by_hand")),
        "pattern-memory": lambda: under(
            "memory per partial match beyond its event, 1 M keys (bytes)", bytes_per_partial_match(), 200, "hashmap"
        ),
        "memory": lambda: under("memory per key, int value state, 1 M keys (bytes)", memory_per_key(), 300, "hashmap"),
    }


def nexmark_measures(bench: Bench) -> dict[str, Callable[[], Ratio]]:
    """Nexmark's queries beside Flink SQL, which runs in the JVM."""
    bars = dict.fromkeys(("q0", "q1", "q2", "q14", "q21", "q22"), 2.5)
    bars |= {**dict.fromkeys(("q5_windows", "q7_windows", "q11", "q12"), 2.0)}
    bars |= {"q21_udf": 6.0, "q21_pandas": 6.0, "udaf": 20.0}

    def plain(query: str, bar: float) -> Ratio:
        return ratio(f"Nexmark {query}: Funke / Flink SQL", bench.nexmark(query), bench.nexmark(query, True), bar)

    def by_cpu(query: str, bar: float, modes: Sequence[tuple[str, ...]] = ((),)) -> Ratio:
        ours, theirs = (
            min(bench.nexmark_cpu_us(query, on_pyflink, options) for options in modes) for on_pyflink in (False, True)
        )
        speeds = (bench.speeds[_nexmark_name(query, on_pyflink, modes[0])] for on_pyflink in (False, True))
        detail = f"{ours:.2f} / {theirs:.2f} µs for an event; {' / '.join(f'{each:,.0f}' for each in speeds)} events/s"
        name = f"Nexmark {query}{', both with RocksDB' if ROCKSDB in modes else ''}"
        return at_least(f"{name}, processor time of all processes: Flink SQL / Funke", theirs / ours, bar, detail)

    def looked_up() -> Ratio:
        """Flink's files cannot be looked up: beside reading bids alone."""
        plain_us, ours = (bench.nexmark_cpu_us(query, False) for query in ("q0", "q13"))
        detail = f"{plain_us:.2f} / {ours:.2f} µs for an event"
        return at_least("Nexmark q13, processor time of all processes: q0 / q13", plain_us / ours, 0.5, detail)

    def folded() -> Ratio:
        ours, theirs = (bench.nexmark("q17", on_pyflink, MINI_BATCH) for on_pyflink in (False, True))
        return ratio("Nexmark q17, mini-batches: Funke / Flink SQL", ours, theirs, 2.5)

    def finished() -> Ratio:
        """Flink SQL does not finish this one."""
        speed = bench.nexmark("cep3")
        detail = f"{bench.nexmark_cpu_us('cep3', False):.2f} µs for an event"
        return Ratio("Nexmark cep3, which Flink SQL does not finish: Funke, events/s", speed, "finishes", True, detail)

    measures: dict[str, Callable[[], Ratio]] = {f"nexmark-{q}": partial(plain, q, bar) for q, bar in bars.items()}
    for query, bar in CPU_BARS.items():
        modes = ((), MINI_BATCH) if query in IN_BOTH_MODES else ((),)
        measures[f"nexmark-{query}"] = partial(by_cpu, query, bar, modes)
    measures |= {f"nexmark-{query}-rocksdb": partial(by_cpu, query, 4.0, (ROCKSDB,)) for query in ("q18", "q20")}
    return {**measures, "pattern-cep3": finished, "nexmark-q13": looked_up, "nexmark-q17-folded": folded}


def batch_measures(bench: Bench) -> dict[str, Callable[[], Ratio]]:
    """Queries in batch mode: Spark's plan beside slots, Flink SQL and plain Spark SQL."""

    def to_flink(query: str) -> Ratio:
        name = f"batch SQL, {query}, CSV: Funke / Flink SQL"
        bar = 1.2 if query == "decimals" else 1
        return ratio(name, bench.batch_sql(query, "csv"), bench.batch_sql(query, "csv", "flink"), bar)

    def to_spark(query: str) -> Ratio:
        name = f"batch SQL, {query}, Parquet by the connector spark: Funke / plain Spark SQL"
        return ratio(name, bench.batch_sql(query, "spark"), bench.batch_sql(query, "plain", "spark"), 0.7)

    def to_slots(query: str) -> Ratio:
        name = f"batch SQL, {query}, CSV: Spark's plan / slots"
        slots = bench.batch_sql(query, "csv", options=["funke.table.batch-plan=slots"])
        return ratio(name, bench.batch_sql(query, "csv"), slots, 0.8)

    measures: dict[str, Callable[[], Ratio]] = {}
    for query in ("group", "decimals", "join", "sort"):
        measures[f"batch-{query}"] = partial(to_flink, query)
        measures[f"batch-{query}-slots"] = partial(to_slots, query)
    return measures | {f"batch-{query}-spark": partial(to_spark, query) for query in ("group", "join", "sort", "copy")}


def operator_measures() -> dict[str, Callable[[], Ratio]]:
    """SQL operators in one process without Spark, by CPU."""

    def batches(name: str) -> Ratio:
        large, small = sql_operators.batch_costs_us(name)
        sizes = f"{sql_operators.LARGE:,} / {sql_operators.SMALL}"
        title = f"{name}: CPU of a row in batches of {sizes} rows"
        return at_least(title, large / small, 0.5, f"{large:.2f} / {small:.2f} µs")

    def condition() -> Ratio:
        plain, python, pandas = sql_operators.condition_costs_us()
        detail = f"{plain:.2f} / {python:.2f} µs for a row; on columns (pandas) {pandas:.2f}"
        return under("join: Python function / expression as its condition", python / plain, 2, detail)

    def stored_row(form: str) -> Ratio:
        measured = sql_operators.stored_row_bytes(form)
        return under(
            f"join: stored row beside its columns, {form} (bytes)", measured, 64, "one row of a key on each side"
        )

    measures: dict[str, Callable[[], Ratio]] = {
        f"sql-batches-{each}": partial(batches, each) for each in sql_operators.QUERIES
    }
    measures |= {f"sql-stored-row-{each}": partial(stored_row, each) for each in sql_operators.FORMS}
    measures["sql-condition"] = condition
    measures["sql-over"] = lambda: at_least(
        "OVER by values, ten rows in a partition: rows in a second of CPU",
        sql_operators.sorted_over_rows_per_s(),
        300_000,
        "",
    )
    measures["sql-over-frame"] = lambda: at_least(
        "the same, FIRST_VALUE of each row and the two before it",
        sql_operators.sorted_over_rows_per_s("FIRST_VALUE(a)", sql_operators.TWO_BEFORE),
        300_000,
        "",
    )
    return measures


def small_batches(bench: Bench, query: str) -> Ratio:
    """What a job loses if its source has its rows in small batches."""
    large, small = bench.small_batches(query)
    sizes = f"{sql_operators.LARGE:,} / {sql_operators.SMALL}"
    title = f"{query}, a job with two slots: CPU of the slots for a row, source with batches of {sizes} rows"
    return at_least(title, large / small, 0.5, f"{large:.2f} / {small:.2f} µs")


def machine() -> str:
    """The machine in a line."""
    model = platform.processor() or platform.machine()
    for line in Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []:
        if line.startswith("model name"):
            model = line.split(":", 1)[1].strip()
            break
    return f"{os.cpu_count()} cores ({model}), {platform.system()}"


def software() -> str:
    """The versions that are compared."""
    import pyspark

    return f"Python {platform.python_version()}, PySpark {pyspark.__version__}, {PYFLINK.replace('==', ' ')}"


def recorded(results: dict[str, Ratio], bench: Bench, run: str) -> Results:
    """The results as rows of the data file."""
    old = {row["measure"]: row["section"] for row in Results.read().measures}
    measured = [
        {
            "measure": measure,
            "section": old.get(measure) or section_of(measure),
            "name": each.name,
            "measured": float(f"{each.measured:.3g}"),
            "wanted": each.bar,
            "is_met": each.is_met,
            "detail": each.detail,
            "run": run,
        }
        for measure, each in results.items()
    ]
    programs = [
        {
            "program": name,
            "rows_per_s": round(speed),
            "cpu_us": round(bench.cpu_us[name], 2) if name in bench.cpu_us else None,
            "run": run,
        }
        for name, speed in bench.speeds.items()
    ]
    formats = [
        {
            "format": each.name,
            "bytes": round(each.message_bytes),
            "decode_us": round(each.decode_us, 1),
            "encode_us": None if each.encode_us is None else round(each.encode_us, 1),
            "run": run,
        }
        for each in bench.format_costs
    ]
    return Results({}, measured, programs, formats)


def section_of(measure: str) -> str:
    """Where the page shows a measure that it has not shown before."""
    word = measure.split("-", maxsplit=1)[0]
    starts = {
        "kafka": "connectors",
        "cdc": "connectors",
        "latency": "latency",
        "rocksdb": "state",
        "pattern": "patterns",
    }
    return word if word in SECTIONS else starts.get(word, "datastream")


def main() -> None:
    """Runs what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", help="short names of the measures to run")
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--events", type=int, help="events of Nexmark, if not as many as usual")
    parser.add_argument("--write", action="store_true", help="replace the rows in results/recorded.json")
    options = parser.parse_args()
    bench = Bench(options.rows, options.events)
    results: dict[str, Ratio] = {}
    run = time.strftime("%Y-%m-%d")
    about = {
        "date": run,
        "machine": machine(),
        "software": software(),
        "note": f"`{' '.join(['benchmarks/run.py', *sys.argv[1:]])}`",
    }
    before = Results.read()
    if run in before.runs and about != before.runs[run]:
        run = time.strftime("%Y-%m-%d %H:%M")
    for name, measure in measures(bench).items():
        if not options.only or name in options.only:
            result = results[name] = measure()
            mark = "ok " if result.is_met else "LOW"
            print(f"{mark} {result.name}: {result.measured:,.2f} (wanted {result.bar}; {result.detail})", flush=True)
            if options.write:  # after each: a run takes an hour, and may be stopped
                before.renewed(run, about, recorded(results, bench, run)).write()
                page.main([])


if __name__ == "__main__":
    main()
