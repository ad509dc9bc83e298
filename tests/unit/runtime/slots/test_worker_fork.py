"""A slot that is forked from Spark's Python worker keeps nothing of the worker's."""

from __future__ import annotations

import marshal
import os
import py_compile
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from funke.engine.runtime.spark.spark_tasks import _compiled, pack_funke

# The launch message is a pipe that nobody writes to: the new slot waits for it, as long as the worker looks at it.
FORKING = """
import os, signal, sys
import pyspark.taskcontext, pyspark.worker
from funke.engine.runtime.slots.worker_fork import fork_from_worker
launch = sys.argv[1]
os.mkfifo(launch)
reading, writing = os.pipe()
slot = fork_from_worker(launch, ())
assert slot, "it is a worker"
os.close(writing)
assert os.read(reading, 1) == b"", "the slot does not hold what Spark's connection is"
os.kill(slot, signal.SIGKILL)
assert os.waitpid(slot, 0)[1] == signal.SIGKILL
print("done")
"""


@pytest.mark.skipif(not Path("/dev/fd").exists(), reason="looks into /dev/fd")
def test_the_worker_and_its_slot_share_no_descriptor(tmp_path: Path) -> None:
    command = [sys.executable, "-c", FORKING, str(tmp_path / "launch")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=110, check=False)
    assert done.stdout == "done\n", done.stderr


# Modules that are loaded after the working folder has changed, from an archive with a relative path.
IMPORTING = """
import os, sys
import pyspark.taskcontext, pyspark.worker
sys.path.insert(0, "./modules.zip")
import package
from funke.engine.runtime.slots import worker_fork

def main(launch, listeners):
    os.chdir("/")
    import package.later, other
    os.write(2, b"imported")

worker_fork.main = main
os.waitpid(worker_fork.fork_from_worker("launch", ()), 0)
"""


def test_a_slot_with_another_working_folder_finds_its_modules(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "modules.zip", "w") as archive:
        for name in ("package/__init__.py", "package/later.py", "other.py"):
            archive.writestr(name, "")
    command = [sys.executable, "-c", IMPORTING]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=110, check=False)
    assert done.stderr == "imported"


@pytest.mark.parametrize("before", ["", "import pyspark.worker, threading, time; start()"])
def test_other_processes_and_those_with_threads_do_not_fork(before: str) -> None:
    text = (
        "import threading, time\n"
        "def start(): threading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n"
        f"{before}\n"
        "from funke.engine.runtime.slots.worker_fork import fork_from_worker\n"
        "print(fork_from_worker('nothing', ()))"
    )
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=110, check=False)
    assert done.stdout == "None\n", done.stderr


def test_what_is_shipped_is_compiled_and_its_frames_are_not_the_users(tmp_path: Path) -> None:
    import funke.engine.runtime.slots.slot_process  # noqa: F401  what slots load is loaded here

    archive = tmp_path / "funke.zip"
    pack_funke(str(archive))
    with zipfile.ZipFile(archive) as packed:
        names = set(packed.namelist())
    assert {"funke/engine/errors.py", "funke/engine/errors.pyc", "funke/ops/cli/main.py"} <= names
    look = (
        "import funke.engine.errors as e; code = e.user_line.__code__\n"
        "print(e.__file__, code.co_filename.startswith(e.PACKAGE_ROOTS))"
    )
    environment = {**os.environ, "PYTHONPATH": str(archive)}
    done = subprocess.run([sys.executable, "-c", look], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == f"{archive}/funke/engine/errors.pyc True\n"


def test_what_python_has_kept_of_another_source_is_not_shipped(tmp_path: Path) -> None:
    module, head_bytes = tmp_path / "module.py", 16
    module.write_text("value = 1")
    py_compile.compile(str(module))
    for text, value in (("value = 1", 1), ("value = 22", 22)):
        module.write_text(text)
        names: dict[str, int] = {}
        exec(marshal.loads(_compiled(module, "module")[head_bytes:]), names)
        assert names["value"] == value
