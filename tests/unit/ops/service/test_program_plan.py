"""The plan of a program that is run up to its first job, in a process of its own, and not any further."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from funke.engine.errors import JobExecutionError
from funke.ops.service.program_plan import plan_of_program

HEAD = """
import subprocess, sys, threading, time
from pyflink.datastream import StreamExecutionEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
"""
PROGRAM = f"""{HEAD}
threading.Thread(target=time.sleep, args=(60,)).start()
print("before", sys.argv[1:])
env.from_collection([1, 2]).key_by(lambda n: n).sum(0).name("sums").print().name("out")
env.execute("numbers " + sys.argv[1])
open("executed", "w").close()
"""
Write = Callable[[str], list[str]]


@pytest.fixture
def program(tmp_path: Path) -> Write:
    def write(text: str) -> list[str]:
        (tmp_path / "job.py").write_text(text)
        return ["-p", "3", "job.py", "--input"]

    return write


def test_the_plan_has_flinks_form_and_nothing_is_executed(program: Write, tmp_path: Path) -> None:
    plan = plan_of_program(program(PROGRAM), str(tmp_path))
    assert (plan["name"], plan["type"], len(plan["jid"])) == ("numbers --input", "STREAMING", 32)
    source, sums = plan["nodes"]
    assert (source["parallelism"], sums["parallelism"], sums["description"]) == (1, 3, "sums<br/>+- Sink: out")
    assert sums["inputs"] == [{"num": 0, "id": source["id"], "ship_strategy": "HASH", "exchange": "pipelined_bounded"}]
    assert not (tmp_path / "executed").exists()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("print('nothing')", "the program has ended without executing a job"),
        ("raise ValueError('no input')", "no input"),
        ("raise SystemExit(0)", "the program has no plan"),
        ("x = (", "job.py"),
    ],
)
def test_a_program_without_a_plan_says_why(program: Write, tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(JobExecutionError) as caught:
        plan_of_program(program(text), str(tmp_path))
    assert said in str(caught.value)


@pytest.mark.skipif(not Path("/proc").exists(), reason="looks into /proc")
def test_a_program_that_does_not_come_to_its_job_is_ended_with_what_it_has_started(
    program: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Child(subprocess.Popen[bytes]):
        """Its time is up when it has started what goes with it, however long that takes."""

        def wait(self, timeout: float | None = None) -> int:
            if timeout is None:
                return super().wait()
            while not ((tmp_path / "pid").exists() and (tmp_path / "pid").read_text().endswith("\n")):
                assert self.poll() is None
                time.sleep(0.05)
            raise subprocess.TimeoutExpired(self.args, timeout)

    monkeypatch.setattr(subprocess, "Popen", Child)
    waits = (
        "import subprocess\nprint('waits', flush=True)\nsubprocess.run(['sh', '-c', 'echo $$ > pid; exec sleep 60'])"
    )
    with pytest.raises(JobExecutionError, match=r"not reach its first job within 3 s:\nwaits"):
        plan_of_program(program(waits), str(tmp_path), 3.0)
    process = Path("/proc") / (tmp_path / "pid").read_text().strip() / "cmdline"
    end = time.monotonic() + 10
    while process.exists() and process.read_bytes():
        assert time.monotonic() < end, "it lives on"
        time.sleep(0.05)
