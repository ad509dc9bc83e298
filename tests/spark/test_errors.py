"""A failure names the operator and the user's line and shows the user's own exception, without a JVM stack."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from funke.common import Types, WatermarkStrategy
from funke.common.watermark_strategy import TimestampAssigner
from funke.datastream import DataStream, KeyedProcessFunction, MapFunction, ProcessFunction, StreamExecutionEnvironment
from funke.datastream.connectors.file_system import FileSource, StreamFormat
from funke.datastream.connectors.python import PythonSink, PythonSinkWriter, PythonSource
from funke.engine.errors import (
    ConfigurationError,
    FunkeError,
    JobExecutionError,
    SerializationError,
    SlotLostError,
    SourceError,
)
from tests.spark.job_running import collect, run_program

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]


class Broken(Exception):
    """What user functions raise here."""


def explode(value: Any) -> Any:
    if value == 3:
        raise Broken(f"cannot digest {value}")
    return value


class ExplodingMap(MapFunction):
    def map(self, value: Any) -> Any:
        return explode(value)


class ExplodingOpen(MapFunction):
    def open(self, context: Any) -> None:
        raise Broken("cannot digest 3 in open")

    def map(self, value: Any) -> Any:
        return value


class ExplodingClose(MapFunction):
    def map(self, value: Any) -> Any:
        return value

    def close(self) -> None:
        raise Broken("cannot digest 3 in close")


class ExplodingProcess(ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield explode(value)


class ExplodingTimer(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> None:
        ctx.timer_service().register_event_time_timer(value)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield explode(timestamp)


class ExplodingAssigner(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(explode(value))


class ExplodingWriter(PythonSinkWriter):
    def write(self, value: Any) -> None:
        explode(value)


class ExplodingSink(PythonSink):
    def create_writer(self) -> PythonSinkWriter:
        return ExplodingWriter()


class ExplodingCommit(PythonSink):
    class Writer(PythonSinkWriter):
        def write(self, value: Any) -> None:
            pass

        def prepare_commit(self) -> list[Any]:
            return ["part"]

    def create_writer(self) -> PythonSinkWriter:
        return self.Writer()

    def commit(self, committables: list[Any]) -> None:
        raise Broken("cannot digest 3 in commit")


def numbers(env: StreamExecutionEnvironment) -> DataStream:
    return env.from_collection([1, 2, 3, 4])


def assigner_strategy() -> WatermarkStrategy:
    return WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(ExplodingAssigner())


FAILING = {
    "lambda in ingest": (lambda stream: stream.map(explode).name("digest"), "digest"),
    "map in a slot": (lambda stream: stream.map(ExplodingMap()).name("digest"), "digest"),
    "second of a chain": (lambda stream: stream.map(abs).map(ExplodingMap()).name("digest"), "digest"),
    "open": (lambda stream: stream.map(ExplodingOpen()).name("digest"), "digest"),
    "close": (lambda stream: stream.map(ExplodingClose()).name("digest"), "digest"),
    "filter": (lambda stream: stream.filter(explode).name("digest"), "digest"),
    "process": (lambda stream: stream.process(ExplodingProcess()).name("digest"), "digest"),
    "timer": (lambda stream: stream.key_by(lambda n: n).process(ExplodingTimer()).name("digest"), "digest"),
    "reduce": (
        lambda stream: stream.key_by(lambda n: 0).reduce(lambda a, b: explode(b)).name("digest"),
        "digest",
    ),
    "key selector": (lambda stream: stream.map(abs).name("upstream").key_by(explode).map(abs).name("digest"), "digest"),
    "partitioner": (
        lambda stream: stream.partition_custom(lambda key, count: explode(key) % count, abs).map(abs).name("digest"),
        "digest",
    ),
    "timestamp assigner": (lambda stream: stream.assign_timestamps_and_watermarks(assigner_strategy()), "Timestamps"),
    "sink": (lambda stream: stream.sink_to(ExplodingSink()).name("digest"), "digest"),
    "sink behind an exchange": (lambda stream: stream.rebalance().sink_to(ExplodingSink()).name("digest"), "digest"),
    "commit": (lambda stream: stream.sink_to(ExplodingCommit()).name("digest"), "digest"),
}


@pytest.mark.parametrize("kind", FAILING)
def test_a_failing_function_is_named_with_its_exception(env: StreamExecutionEnvironment, kind: str) -> None:
    build, operator = FAILING[kind]
    stream = build(numbers(env))
    if isinstance(stream, DataStream):
        stream.print()
    with pytest.raises(JobExecutionError) as caught:
        env.execute("failing")
    text = str(caught.value)
    assert "Broken: cannot digest 3" in text
    assert "test_errors.py" in text
    assert "/funke/engine/" not in text
    assert "py4j" not in text and "org.apache.spark" not in text
    assert operator in text.splitlines()[0]
    assert text.splitlines()[1].startswith("  in your job: test_errors.py:")


def test_the_failure_reaches_whoever_iterates_over_results(env: StreamExecutionEnvironment) -> None:
    with pytest.raises(JobExecutionError, match="cannot digest 3"):
        collect(numbers(env).map(ExplodingMap()))


CLI_PROGRAM = """\
from pyflink.datastream import StreamExecutionEnvironment

def parse(line):
    return int(line)

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(2)
(env.from_collection(["1", "x"])
    .map(parse).name("parse numbers")
    .key_by(lambda number: number)
    .reduce(lambda a, b: a + b)
    .print())
env.execute()
"""


def test_a_failing_program_ends_with_code_1_and_a_short_report(tmp_path: Path) -> None:
    program = tmp_path / "orders.py"
    program.write_text(CLI_PROGRAM)
    done = run_program(program)
    assert done.returncode == 1
    assert "operator 'parse numbers' failed: ValueError: invalid literal for int() with base 10: 'x'" in done.stderr
    assert "in your job: orders.py:9" in done.stderr
    assert 'orders.py", line 4, in parse' in done.stderr
    assert "/funke/engine/" not in done.stderr
    assert "org.apache" not in done.stderr and "py4j" not in done.stderr


def test_a_port_in_use_is_one_sentence(tmp_path: Path) -> None:
    program = tmp_path / "orders.py"
    with socket.create_server(("127.0.0.1", 0)) as occupied:
        options = {"spark.driver.port": str(occupied.getsockname()[1]), "spark.port.maxRetries": "0"}
        configured = f"get_execution_environment(Configuration.from_dict({options}))"
        text = CLI_PROGRAM.replace("get_execution_environment()", configured)
        program.write_text(f"from pyflink.common import Configuration\n{text}")
        done = run_program(program)
    assert done.returncode == 1
    (error,) = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert "Spark did not start on master 'local[" in error and "Address already in use" in error


def test_a_missing_input_file(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    source = FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(tmp_path / "absent.txt")).build()
    with pytest.raises(FunkeError, match=r"absent\.txt"):
        collect(env.from_source(source, WatermarkStrategy.no_watermarks(), "lines"))


def test_an_unserialisable_function_is_rejected_at_submission(env: StreamExecutionEnvironment) -> None:
    lock = threading.Lock()
    stream = numbers(env).map(lambda number: (lock, number)[1]).name("locked")
    with pytest.raises(SerializationError) as caught:
        collect(stream)
    text = str(caught.value)
    assert "'locked'" in text and "lock" in text and "open()" in text
    assert text.splitlines()[-1].startswith("  in your job: test_errors.py")


def test_an_unserialisable_record(env: StreamExecutionEnvironment) -> None:
    stream = numbers(env).map(lambda number: threading.Lock()).name("locks").rebalance()
    with pytest.raises(JobExecutionError, match="operator 'locks' failed: SerializationError: a record cannot be"):
        collect(stream)


def test_a_value_that_does_not_fit_its_type(env: StreamExecutionEnvironment) -> None:
    with pytest.raises(FunkeError) as caught:
        collect(numbers(env).map(lambda number: f"text {number}", Types.LONG()).name("typed"))
    assert "'typed'" in str(caught.value) and "got str: 'text " in str(caught.value)


@pytest.mark.parametrize("parallelism", [0, -2, 40_000])
def test_an_impossible_parallelism(env: StreamExecutionEnvironment, parallelism: int) -> None:
    with pytest.raises(FunkeError, match=str(parallelism)):
        collect(numbers(env).map(abs).set_parallelism(parallelism))


def test_parallelism_beyond_the_maximum(env: StreamExecutionEnvironment) -> None:
    stream = numbers(env).key_by(abs).reduce(max).set_max_parallelism(1)
    with pytest.raises(FunkeError, match="parallelism"):
        collect(stream.set_parallelism(2))


def test_more_slots_than_one_machine_should_have(env: StreamExecutionEnvironment) -> None:
    stream = numbers(env).key_by(abs).reduce(max).set_parallelism(129)
    with pytest.raises(ConfigurationError, match=r"needs 129 slots.*at most 128 are allowed"):
        collect(stream)


def test_a_socket_nobody_listens_on(env: StreamExecutionEnvironment) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with pytest.raises(FunkeError, match=f"127.0.0.1:{port}"):
        collect(env.socket_text_stream("127.0.0.1", port))


def test_something_that_is_no_stream_format(tmp_path: Path) -> None:
    with pytest.raises((ConfigurationError, TypeError), match="format"):
        FileSource.for_record_stream_format("csv", str(tmp_path))  # type: ignore[arg-type]


class Dying(MapFunction):
    def map(self, value: Any) -> Any:
        if value == 3:
            os._exit(17)
        return value


def test_a_function_that_ends_its_process_is_a_lost_slot(env: StreamExecutionEnvironment) -> None:
    started = time.monotonic()
    with pytest.raises(SlotLostError, match=r"operator 'dying' failed: .* ended with exit status 17") as caught:
        collect(numbers(env).map(Dying()).name("dying"))
    assert "in your job: test_errors.py:" in str(caught.value)
    assert time.monotonic() - started < 60


class DyingReader(PythonSource):
    def enumerate_splits(self) -> list[Any]:
        return [1]

    def read_split(self, split: Any) -> list[Any]:
        os._exit(17)


def test_a_source_that_ends_the_process_of_its_task(env: StreamExecutionEnvironment) -> None:
    with pytest.raises(JobExecutionError) as caught:
        collect(env.from_source(DyingReader(), WatermarkStrategy.no_watermarks(), "dying"))
    assert "exit status 17 while operator 'Source: dying' was running" in str(caught.value)
    assert "org.apache" not in str(caught.value)
    # The session has not suffered.
    assert sorted(collect(numbers(env).map(abs))) == [1, 2, 3, 4]


class BadEnumeration(PythonSource):
    def enumerate_splits(self) -> list[Any]:
        raise Broken("cannot digest 3 splits")

    def read_split(self, split: Any) -> list[Any]:
        return []


class BadReading(PythonSource):
    def enumerate_splits(self) -> list[Any]:
        return [1]

    def read_split(self, split: Any) -> Iterator[Any]:
        yield 1
        raise Broken("cannot digest 3 records")


@pytest.mark.parametrize("source", [BadEnumeration(), BadReading()], ids=["enumerating", "reading"])
def test_a_failing_source(env: StreamExecutionEnvironment, source: Any) -> None:
    with pytest.raises(FunkeError) as caught:
        collect(env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers"))
    text = str(caught.value)
    assert "cannot digest 3" in text and "Broken" in text
    assert "numbers" in text
    assert isinstance(caught.value, (JobExecutionError, SourceError))
