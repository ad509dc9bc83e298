"""A program that describes a job and never runs it is told so, in one line; its exit code stays 0, as in PyFlink."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from funke.datastream import StreamExecutionEnvironment
from funke.datastream.unexecuted import tell_unexecuted

HEAD = """
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.table import StreamTableEnvironment
env = StreamExecutionEnvironment.get_execution_environment()
stream = env.from_collection([1, 2, 3])
"""
REPORTED = (
    "warning: the program has ended without running the job that it has described (job.py:6); "
    "execute() of the environment runs it\n"
)


def run(folder: Path, body: str, *, by_python: bool = False) -> tuple[int, str]:
    (folder / "job.py").write_text(HEAD + body)
    start = ["-c", "import runpy, sys; import funke.alias as a; a.install(); sys.argv = ['job.py'];"
             "runpy.run_path('job.py', run_name='__main__')"]  # fmt: skip
    command = [sys.executable, *(start if by_python else ["-m", "funke", "run", "job.py"])]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    ("body", "by_python"),
    [("stream.map(str).print()\n", True), ("stream.map(str)\n", False), ("stream.print(); exit(0)\n", False)],
)
def test_it_is_reported(tmp_path: Path, body: str, by_python: bool) -> None:
    assert run(tmp_path, body, by_python=by_python) == (0, REPORTED)


def test_an_environment_that_is_gone_before_the_program_ends(tmp_path: Path) -> None:
    body = "stream.print(); del stream, env; import gc; gc.collect()\n"
    assert run(tmp_path, body) == (0, REPORTED)


@pytest.mark.parametrize(
    "body",
    [
        "",
        "stream.map(str)\nenv._submissions.append('of a table')\n",
        "import sys; sys.ps1 = '>>> '; stream.print()\n",
    ],
)
def test_it_is_not_reported(tmp_path: Path, body: str) -> None:
    assert run(tmp_path, body) == (0, "")


def test_a_program_that_fails_says_why_and_no_more(tmp_path: Path) -> None:
    for by_python in (False, True):
        code, message = run(tmp_path, "stream.print(); raise ValueError('no')\n", by_python=by_python)
        assert code == 1 and "ValueError: no" in message and "without running" not in message


def test_under_pytest_nobody_is_notified(capsys: pytest.CaptureFixture[str]) -> None:
    StreamExecutionEnvironment.get_execution_environment().from_collection([1]).print()
    tell_unexecuted()
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("name", ["window", "reduce", "sum", "count_window", "interval_join"])
def test_what_only_keyed_streams_have(name: str) -> None:
    stream = StreamExecutionEnvironment.get_execution_environment().from_collection([1])
    assert not hasattr(stream, name)
    with pytest.raises(AttributeError, match=rf"^{name}\(\) needs a keyed stream: call key_by\(\) before it") as caught:
        getattr(stream, name)
    assert "in your job: test_unexecuted.py:" in str(caught.value)
    assert ("or window_all() for all elements" in str(caught.value)) is (name == "window")


def test_a_mistyped_method() -> None:
    stream = StreamExecutionEnvironment.get_execution_environment().from_collection([1])
    with pytest.raises(
        AttributeError, match=r"^'DataStream' object has no attribute 'flatmap'; did you mean 'flat_map'\?$"
    ):
        stream.flatmap(lambda x: [x])
    with pytest.raises(
        AttributeError, match=r"^'KeyedStream' object has no attribute 'windw'; did you mean 'window'\?$"
    ):
        stream.key_by(lambda x: x).windw(None)
    with pytest.raises(AttributeError, match=r"^'DataStream' object has no attribute 'quite_else'$"):
        stream.quite_else()
