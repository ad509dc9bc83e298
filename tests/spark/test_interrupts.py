"""An interrupt (Ctrl-C, or the stop button of a notebook) of whoever reads results ends their job."""

from __future__ import annotations

import io
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import redirect_stdout
from types import SimpleNamespace
from typing import Any

import pytest

from funke.common import Types, WatermarkStrategy
from funke.datastream import DataStream, StreamExecutionEnvironment
from funke.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
from funke.datastream.interrupts import watch_cell
from funke.engine.types.job_status import JobStatus
from funke.table import EnvironmentSettings, TableEnvironment

ENDLESS = "CREATE TABLE numbers (n INT) WITH ('connector' = 'datagen', 'rows-per-second' = '20')"


def endless_stream() -> DataStream:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    rate = RateLimiterStrategy.per_second(20)
    source = DataGeneratorSource(lambda number: number, 10**9, Types.LONG(), rate_limiter_strategy=rate)
    return env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")


def endless_table() -> TableEnvironment:
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.get_config().set("parallelism.default", "1")
    t_env.execute_sql(ENDLESS)
    return t_env


class Screen(io.StringIO):
    """Tells when something is printed."""

    def __init__(self, noted: Callable[[Any], Any]) -> None:
        super().__init__()
        self._noted = noted

    def write(self, text: str) -> int:
        if "|" in text and "n" not in text:  # a row, and not the heading
            self._noted(text)
        return super().write(text)


def collect(noted: Callable[[Any], Any]) -> None:
    deque(map(noted, endless_stream().execute_and_collect()), 0)


def collect_keyed(noted: Callable[[Any], Any]) -> None:
    deque(map(noted, endless_stream().key_by(lambda number: number).execute_and_collect()), 0)


def print_rows(noted: Callable[[Any], Any]) -> None:
    with redirect_stdout(Screen(noted)):
        endless_table().execute_sql("SELECT * FROM numbers").print()


def collect_rows(noted: Callable[[Any], Any]) -> None:
    deque(map(noted, endless_table().sql_query("SELECT * FROM numbers").execute().collect()), 0)


def to_frame(noted: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    from funke.table.environments import table_runs

    left_rows = table_runs.left_rows
    monkeypatch.setattr(table_runs, "left_rows", lambda rows: left_rows(map(noted, rows)))
    endless_table().from_path("numbers").to_pandas()


def waits_for_more() -> bool:
    """Whether the main thread waits for what the job sends next."""
    frame = sys._current_frames()[threading.main_thread().ident or 0]
    names = set()
    while frame is not None:
        names.add(frame.f_code.co_name)
        frame = frame.f_back  # type: ignore[assignment]
    return {"batches", "wait"} <= names


@pytest.mark.spark
@pytest.mark.parametrize("read", [collect, collect_keyed, print_rows, collect_rows, to_frame])
def test_the_job_ends_with_the_wait_for_it(
    spark: Any, read: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs, has_begun, has_ended = [], threading.Event(), threading.Event()
    submit = StreamExecutionEnvironment._submit

    def noted_job(env: StreamExecutionEnvironment, graph: Any) -> Any:
        jobs.append(submit(env, graph))
        return jobs[-1]

    def noted(element: Any) -> Any:
        has_begun.set()
        return element

    def interrupt() -> None:
        if has_begun.wait(120):
            while not waits_for_more() and not has_ended.is_set():
                time.sleep(0.001)
            if not has_ended.is_set():
                signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    monkeypatch.setattr(StreamExecutionEnvironment, "_submit", noted_job)
    thread = threading.Thread(target=interrupt)
    thread.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            read(noted, monkeypatch) if read is to_frame else read(noted)
    finally:
        has_ended.set()
        has_begun.set()
        thread.join()
    (job,) = jobs
    assert job.status() is JobStatus.CANCELED


class Cells:
    """What IPython lets others hear of cells."""

    def __init__(self) -> None:
        self.heard: list[Callable[[Any], None]] = []

    def register(self, event: str, function: Callable[[Any], None]) -> None:
        assert event == "post_run_cell"
        self.heard.append(function)

    def unregister(self, event: str, function: Callable[[Any], None]) -> None:
        self.heard.remove(function)  # a ValueError if it is not there


class ReadJob:
    def __init__(self) -> None:
        self.result_future: Future[None] = Future()
        self.cancelled = 0

    def cancel(self) -> Future[None]:
        self.cancelled += 1
        self.result_future.set_result(None)
        return self.result_future


def test_a_notebook_whose_cell_is_interrupted_between_two_elements(monkeypatch: pytest.MonkeyPatch) -> None:
    cells = Cells()
    notebook = SimpleNamespace(get_ipython=lambda: SimpleNamespace(events=cells))
    monkeypatch.setitem(sys.modules, "IPython", notebook)  # type: ignore[arg-type]
    first, second = ReadJob(), ReadJob()
    for job in (first, second):
        watch_cell(job)  # type: ignore[arg-type]
    (has_run,) = cells.heard
    for error in (None, ValueError("another mistake")):
        has_run(SimpleNamespace(error_in_exec=error))
    assert first.cancelled == 0
    second.result_future.set_result(None)
    has_run(SimpleNamespace(error_in_exec=KeyboardInterrupt()))
    assert (first.cancelled, second.cancelled) == (1, 0)
