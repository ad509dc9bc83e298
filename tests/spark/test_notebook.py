"""A notebook with a real kernel: what an interrupt ends, what errors and values look like, and `import pyflink`."""

from __future__ import annotations

import queue
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.spark

_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_LIMIT_S = 110

# Jobs are noted, and a thread says when the main one waits for what a job sends.
BEGIN = """
import sys, threading, time
from funke.datastream import StreamExecutionEnvironment
from funke.table import EnvironmentSettings, TableEnvironment

jobs, submit = [], StreamExecutionEnvironment._submit
def noted(env, graph):
    jobs.append(submit(env, graph))
    return jobs[-1]
StreamExecutionEnvironment._submit = noted

def say_when_reading(begun):
    def look():
        while True:
            frame, names = sys._current_frames()[threading.main_thread().ident], set()
            while frame is not None:
                names.add(frame.f_code.co_name)
                frame = frame.f_back
            if len(jobs) > begun and {"batches", "wait"} <= names:
                print("it reads", flush=True)
                return
            time.sleep(0.01)
    threading.Thread(target=look).start()

t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
t_env.get_config().set("parallelism.default", "1")
t_env.execute_sql("CREATE TABLE numbers (n INT) WITH ('connector' = 'datagen', 'rows-per-second' = '2')")
"""


class Notebook:
    """Runs cells in a kernel, a process of its own that an interrupt reaches as SIGINT."""

    def __init__(self) -> None:
        from jupyter_client import KernelManager

        self.manager = KernelManager(kernel_name="python3")
        self.manager.start_kernel()
        self.client = self.manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(_LIMIT_S)

    def run(self, cell: str, interrupted_after: str | None = None) -> str:
        """What a cell shows; it is interrupted when a text was shown, if there is one."""
        message_id, cell_output, end = self.client.execute(cell), "", time.monotonic() + _LIMIT_S
        while time.monotonic() < end:
            try:
                message = self.client.get_iopub_msg(timeout=1)
            except queue.Empty:
                continue
            content = message["content"]
            if message["parent_header"].get("msg_id") != message_id and message["msg_type"] != "stream":
                continue
            if message["msg_type"] == "stream":
                cell_output += content["text"]
            elif message["msg_type"] == "execute_result":
                cell_output += "".join(content["data"].values())
            elif message["msg_type"] == "error":
                cell_output += _COLOURS.sub("", "\n".join(content["traceback"]))
            elif message["msg_type"] == "status" and content["execution_state"] == "idle":
                return cell_output
            if interrupted_after is not None and interrupted_after in cell_output:
                interrupted_after = None
                self.manager.interrupt_kernel()
        raise AssertionError(f"the cell did not end: {cell_output}")

    def close(self) -> None:
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)


@pytest.fixture
def notebook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Notebook]:
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    notebook = Notebook()
    yield notebook
    notebook.close()


READING = {
    "print": "t_env.execute_sql('SELECT n FROM numbers').print()",
    "rows": "rows = t_env.sql_query('SELECT n FROM numbers').execute().collect()\nfor row in rows: pass",
    "to_pandas": "t_env.from_path('numbers').to_pandas()",
    "elements": """env = StreamExecutionEnvironment.get_execution_environment()
stream = env.from_source(source, WatermarkStrategy.no_watermarks(), 'numbers')
for element in stream.execute_and_collect(): pass""",
}
SOURCE = """from funke.common import Types, WatermarkStrategy
from funke.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
source = DataGeneratorSource(int, 10**9, Types.LONG(), rate_limiter_strategy=RateLimiterStrategy.per_second(2))"""


def without_numbers(text: str) -> str:
    return re.sub(r"Cell In\[\d+\]", "Cell In[#]", text)


def test_cells(notebook: Notebook) -> None:
    assert notebook.run(BEGIN + SOURCE) == ""
    for number, (name, cell) in enumerate(READING.items()):
        last_line = cell.splitlines()[-1]
        output = notebook.run(f"say_when_reading({number})\n{cell}", interrupted_after="it reads")
        location = f"line {cell.count(chr(10)) + 2}\n----> {last_line}\n\nKeyboardInterrupt"
        assert without_numbers(output).endswith(f"Cell In[#], {location}"), (name, output)
        assert notebook.run("jobs[-1].status().name, len(jobs)").startswith(f"('CANCELED', {number + 1})"), name
    errors(notebook)
    values(notebook)
    alias(notebook)


def errors(notebook: Notebook) -> None:
    """The user's own lines and the message, and no line of the engine."""
    output = notebook.run("1 + 1\nt_env.execute_sql('SELECT nope FROM numbers')")
    assert without_numbers(output).startswith(
        "Cell In[#], line 2\n----> t_env.execute_sql('SELECT nope FROM numbers')\n\nSqlValidationError"
    )
    output = notebook.run("stream = env.from_collection([1, 0])\nstream.map(lambda n: 1 / n).print()\nenv.execute()")
    expected = "Cell In[#], line 3\n----> env.execute()\n\nJobExecutionError: operator 'Map' failed"
    assert expected in without_numbers(output)
    missing = without_numbers(notebook.run("stream.flatmap(str)"))
    assert missing.startswith(
        "Cell In[#], line 1\n----> stream.flatmap(str)\n\nAttributeError: 'DataStream' object has"
    )
    (cell,) = set(re.findall(r"Cell In\[\d+\]", output))
    assert f"in your job: {cell}:2" in output and f"{cell}, line 2, in <lambda>" in output


def values(notebook: Notebook) -> None:
    """Their columns and types, without a job."""
    output = notebook.run("t_env.from_path('numbers')")
    assert output.startswith("Table(n INT)<div>") and "<td>n</td><td>INT</td>" in output
    output = notebook.run("t_env.execute_sql('SHOW TABLES')")
    assert output.startswith("TableResult(table name STRING)<div>") and "<td>numbers</td>" in output
    output = notebook.run("stream.map(str)")
    assert output.startswith("DataStream(operator=Map, type=") and "<th>property</th>" in output


def alias(notebook: Notebook) -> None:
    """PyFlink's name is Funke's only when the user says so."""
    assert "ModuleNotFoundError" in notebook.run("import pyflink.table")
    assert notebook.run("%load_ext funke\nimport pyflink.table\npyflink.table.__name__") == "'funke.table'"
