"""The `funke` command in this process, with an engine that runs nothing."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from funke import __version__, alias
from funke.engine.config.job_defaults import COMMAND_LINE_VARIABLE
from funke.engine.errors import JobExecutionError
from funke.ops.cli import job_list
from funke.ops.cli.main import main, main_of_module
from tests.unit.datastream.fake_jobs import FakeEngine

PROGRAM = """
import subprocess
import sys
from pyflink.datastream import StreamExecutionEnvironment

def parse(value):
    return int(value)

env = StreamExecutionEnvironment.get_execution_environment()
env.from_collection(["1", "2"]).map(parse).key_by(lambda n: n).sum(0).print()
print(__name__, sys.argv[1:], env.get_parallelism(), sys.modules["__main__"].parse is parse)
env.execute("numbers")
print("executed")
"""


@pytest.fixture(autouse=True)
def process_state(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Running a program changes the process as Python's own start would; take that back."""
    was_installed = alias.is_installed()
    monkeypatch.setenv(COMMAND_LINE_VARIABLE, "")
    monkeypatch.setattr(sys, "argv", list(sys.argv))
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])
    yield
    if not was_installed:
        alias.uninstall()


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> FakeEngine:
    engine = FakeEngine()
    monkeypatch.setattr(job_list, "submit_job", engine)
    return engine


@pytest.fixture
def program(tmp_path: Path) -> Callable[[str], str]:
    def write(text: str) -> str:
        path = tmp_path / "job.py"
        path.write_text(text)
        return str(path)

    return write


def test_run_makes_the_program_main_and_pyflink_funke(
    engine: FakeEngine, program: Callable[[str], str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "-p", "3", program(PROGRAM), "--input", "x"]) == 0
    assert capsys.readouterr().out == "__main__ ['--input', 'x'] 3 True\nexecuted\n"
    assert engine.graphs[0].job_name == "numbers" and engine.settings[0].startup == ("funke.alias:install",)


def test_python_m_funke_runs_without_a_command(engine: FakeEngine, program: Callable[[str], str]) -> None:
    assert main_of_module([program(PROGRAM)]) == 0
    assert main_of_module(["run", program(PROGRAM)]) == 0
    assert len(engine.graphs) == 2


def test_modules_beside_the_program_and_in_py_files_can_be_imported(
    engine: FakeEngine, tmp_path: Path, program: Callable[[str], str], capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "beside_the_program.py").write_text("NAME = 'beside'")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "named_by_pyfs.py").write_text("NAME = 'named'")
    path = program("import beside_the_program as a, named_by_pyfs as b\nprint(a.NAME, b.NAME)")
    assert main(["run", "-pyfs", str(tmp_path / "elsewhere" / "named_by_pyfs.py"), path]) == 0
    assert capsys.readouterr().out == "beside named\n"


def test_a_module_can_be_the_program(
    engine: FakeEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "program_as_module.py").write_text("import sys\nprint(__name__, sys.argv[1:])")
    monkeypatch.chdir(tmp_path)
    assert main(["run", "-pym", "program_as_module", "a"]) == 0
    assert capsys.readouterr().out == "__main__ ['a']\n"


def test_info_shows_the_graphs_and_runs_nothing(
    engine: FakeEngine, program: Callable[[str], str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["info", "-p", "2", program(PROGRAM)]) == 0
    output = capsys.readouterr().out
    headings = [line for line in output.splitlines() if line and not line.startswith(" ")]
    assert headings[1:] == [
        "StreamGraph 'numbers' (streaming): 4 nodes",
        "JobGraph 'numbers': 3 vertices",
        "ExecutionGraph 'numbers': 5 tasks, 2 slots",
        "Plan (streaming): 3 levels, 2 slots",
        "Exchange pipelined: nothing stands against it",
    ]
    assert "executed" not in output and not engine.graphs


def test_info_of_a_program_without_a_job(program: Callable[[str], str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", program("print('nothing')")]) == 1
    assert "without executing a job" in capsys.readouterr().err


def end_first_job(engine: FakeEngine) -> None:
    end = time.monotonic() + 30
    while not engine.jobs and time.monotonic() < end:
        time.sleep(0.01)
    time.sleep(0.1)
    engine.jobs[0].end()


@pytest.mark.parametrize(("failure", "code"), [(None, 0), (JobExecutionError("boom"), 1)])
def test_jobs_that_still_run_are_waited_for(
    engine: FakeEngine, program: Callable[[str], str], failure: JobExecutionError | None, code: int
) -> None:
    engine.runs_on, engine.failure = True, failure
    threading.Thread(target=end_first_job, args=(engine,)).start()
    assert main(["run", program(PROGRAM.replace("env.execute(", "env.execute_async("))]) == code
    assert engine.jobs[0].result_future.done() and not engine.jobs[0].is_cancelled


def test_a_job_whose_results_nobody_reads_any_more_is_cancelled(
    engine: FakeEngine, program: Callable[[str], str]
) -> None:
    engine.runs_on = True
    text = PROGRAM.replace('env.execute("numbers")', "env.from_collection([1]).execute_and_collect()")
    assert main(["run", program(text)]) == 0
    assert engine.jobs[0].is_cancelled


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run"], "error: name the program, as in `funke run job.py`"),
        (["run", "missing.py"], "error: there is no file 'missing.py'"),
        (["run", "."], "error: '.' is a folder; name a Python file"),
        (["run", "-p", "x", "job.py"], "error: the parallelism must be a whole number of at least 1, got 'x'"),
        (["run", "-pym", "no_such_module_at_all"], "error: no Python module 'no_such_module_at_all' found"),
        (["run", "-pyfs", "missing.zip", "job.py"], "error: there is no file 'missing.zip', which -pyfs names"),
        (["job.py"], "error: there is no command 'job.py'; to run it: funke run job.py"),
        (["start"], "error: there is no command 'start'; did you mean 'start-cluster'?"),
    ],
)
def test_mistakes(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 1
    assert capsys.readouterr().err.startswith(message)


def test_a_failed_job_shows_its_message_and_no_machinery(
    engine: FakeEngine, program: Callable[[str], str], capsys: pytest.CaptureFixture[str]
) -> None:
    engine.failure = JobExecutionError("ValueError: bad", "Map", "Traceback (most recent call last):\n  job.py line 3")
    assert main(["run", program(PROGRAM)]) == 1
    assert capsys.readouterr().err == (
        "error: operator 'Map' failed: ValueError: bad\nTraceback (most recent call last):\n  job.py line 3\n"
    )


def test_an_error_of_the_program_shows_its_own_lines_only(
    program: Callable[[str], str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", program("def f():\n    raise KeyError('x')\nf()")]) == 1
    text = capsys.readouterr().err
    assert "job.py" in text and "KeyError: 'x'" in text
    assert os.path.join("funke", "ops") not in text


def test_the_exit_code_of_the_program_is_kept(program: Callable[[str], str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["run", program("import sys; sys.exit(7)")])
    assert ended.value.code == 7


def test_an_interrupt_cancels_jobs(
    engine: FakeEngine,
    program: Callable[[str], str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    engine.runs_on = True
    text = PROGRAM.replace("env.execute(", "env.execute_async(") + "raise KeyboardInterrupt"
    assert main(["run", program(text)]) == 130
    assert capsys.readouterr().err == "interrupted\n"
    assert engine.jobs[0].is_cancelled


def test_version_and_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"funke {__version__}\n"
    assert main(["--help"]) == 0
    assert "funke run [options] program.py" in capsys.readouterr().out
    assert main([]) == 2


LOADED_BY_REJECTIONS = """
import contextlib, io, sys
from funke.ops.cli.main import main
calls = [["--help"], ["--version"], ["nonsense"], ["run"], ["run", "-p", "x", "job.py"], ["run", "missing.py"],
         ["info", "missing.py"], ["status"], ["list", "--bad"], ["run", "--bad", "job.py"]]
for call in calls:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        with contextlib.suppress(SystemExit):
            main(call)
print([name for name in ("pyspark", "pyarrow", "pandas", "numpy", "funke.datastream") if name in sys.modules])
"""


def test_help_and_rejections_load_neither_spark_nor_the_engine() -> None:
    done = subprocess.run([sys.executable, "-c", LOADED_BY_REJECTIONS], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
