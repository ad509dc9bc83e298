"""Programs as a user starts them: the archive of classes is made and used, and nobody is bothered with anything."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.timeout(400),
    pytest.mark.skipif(not Path("/proc").exists(), reason="looks into /proc"),
]

PROGRAM = """
import logging
import sys
from funke.datastream import MapFunction, StreamExecutionEnvironment

logging.basicConfig(level=logging.INFO, filename=sys.argv[1])


class Doubled(MapFunction):
    def open(self, context):
        logging.getLogger("shop").info("opened")

    def map(self, pair):
        logging.getLogger("shop.orders").info("saw %d", pair[1])
        logging.getLogger("shop.orders").debug("not wanted")
        return pair[0], pair[1] * 2


def key_of(pair):
    logging.info("key of %s", pair)
    return pair[0]


env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
pairs = env.from_collection([(n % 3, n) for n in range(10)])
pairs.map(Doubled()).name("double").key_by(key_of).reduce(lambda a, b: (a[0], a[1] + b[1])).print()
env.execute()

from pyspark import SparkContext

maps = open(f"/proc/{SparkContext._gateway.proc.pid}/maps").read()
print("from an archive" if ".jsa" in maps.replace("classes.jsa", "").replace("classes_nocoops.jsa", "") else "as ever")
"""
OUTPUT = "(0, 0)\n(1, 2)\n(2, 4)\n(0, 6)\n(1, 10)\n(2, 14)\n(0, 18)\n(1, 24)\n(2, 30)\n(0, 36)\n"


# What a program under `funke run` finds when it begins, and which process is Spark's in the end.
EARLY = """
import os
from funke.engine.runtime.slots.process_ties import children_of

before = children_of(os.getpid())
added = {"PYSPARK_PYTHON", "SPARK_LOCAL_IP"} & os.environ.keys()

from funke.datastream import StreamExecutionEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
env.from_collection([1]).print()
env.execute("a name of its own")

from pyspark import SparkContext

print(SparkContext._gateway.proc.pid in before, added)
"""


def run(folder: Path, switch: str = "use") -> tuple[str, str, str]:
    """Output, errors and log of the program, with a cache folder of its own."""
    environ = {**os.environ, "XDG_CACHE_HOME": str(folder), "FUNKE_CLASS_ARCHIVE": switch}
    log = folder / "log"
    log.unlink(missing_ok=True)
    command = [sys.executable, "job.py", str(log)]
    done = subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, timeout=200, check=True)
    return done.stdout, done.stderr, log.read_text()


def builders(folder: Path) -> list[str]:
    """Processes that make an archive in a folder, and what they have started."""
    results = []
    for process in Path("/proc").iterdir():
        try:
            if process.name.isdecimal() and f"XDG_CACHE_HOME={folder}\0" in (process / "environ").read_text():
                results.append(process.name)
        except OSError:
            continue
    return results


def archives(folder: Path) -> list[Path]:
    return list(folder.glob("funke/classes-*.jsa"))


def test_an_archive_is_made_and_used_and_passed_over_when_it_is_damaged(tmp_path: Path) -> None:
    # One test: an archive takes long to make, and the tests of a file may run in several processes.
    (tmp_path / "job.py").write_text(PROGRAM)
    first_run_says_nothing_and_leaves_an_archive(tmp_path)
    second_run_uses_it_and_functions_log_to_the_driver(tmp_path)
    funke_run_starts_spark_before_the_program(tmp_path)
    damaged_archive_changes_nothing(tmp_path)
    assert builders(tmp_path) == []


def first_run_says_nothing_and_leaves_an_archive(folder: Path) -> None:
    output, errors, log = run(folder, "on")
    assert (output, errors) == (OUTPUT + "as ever\n", "")
    assert "py4j" not in log
    end = time.monotonic() + 300
    while builders(folder):
        assert time.monotonic() < end
        time.sleep(0.2)
    assert len(archives(folder)) == 1
    assert sorted(path.suffix for path in folder.glob("funke/*")) == ["", ".jsa", ".json"]


def second_run_uses_it_and_functions_log_to_the_driver(folder: Path) -> None:
    output, errors, log = run(folder)
    assert (output, errors) == (OUTPUT + "from an archive\n", "")
    lines = log.splitlines()
    assert "INFO:shop:double (1/1): opened" in lines and "INFO:shop.orders:double (1/1): saw 9" in lines
    assert any(line.startswith("INFO:root:") and line.endswith(": key of (0, 18)") for line in lines)
    # Nothing but what the program logs.
    assert [line for line in lines if not line.startswith(("INFO:shop", "INFO:root:"))] == []


def funke_run_starts_spark_before_the_program(folder: Path) -> None:
    (folder / "early.py").write_text(EARLY)
    own = {"XDG_CACHE_HOME": str(folder), "FUNKE_CLASS_ARCHIVE": "use"}
    by_spark = ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON", "SPARK_LOCAL_IP")
    environ = {**{name: value for name, value in os.environ.items() if name not in by_spark}, **own}
    command = [sys.executable, "-m", "funke", "run", "early.py"]
    done = subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, timeout=200, check=True)
    assert (done.stdout, done.stderr) == ("1\nTrue set()\n", "")


def damaged_archive_changes_nothing(folder: Path) -> None:
    (archive,) = archives(folder)
    archive.chmod(0o600)
    with archive.open("r+b") as file:
        file.seek(archive.stat().st_size // 2)
        file.write(b"\xff" * 4096)
    output, errors, _ = run(folder)
    assert (output, errors) == (OUTPUT + "as ever\n", "")


SMALL = """
import sys
from funke.datastream import StreamExecutionEnvironment


def needless(value):
    return [name for name in ("pandas", "unittest", "pyspark.testing") if name in sys.modules]


env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
with env.from_collection([(n % 3, n) for n in range(10)]).key_by(lambda pair: pair[0]).map(needless) \\
        .execute_and_collect() as found:
    print(needless(None), {str(each) for each in found})
"""


def test_a_small_job_loads_no_tools_for_tests(tmp_path: Path) -> None:
    program = tmp_path / "small.py"
    program.write_text(SMALL)
    results = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, timeout=300, check=True)
    assert results.stdout == "[] {'[]'}\n"
