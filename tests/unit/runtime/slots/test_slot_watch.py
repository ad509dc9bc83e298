"""A slot that crashes, is stopped, holds the interpreter, forks, or must end: somebody notices, and nothing is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import cloudpickle
import pytest

from funke.engine.config.slot_memory import MemoryLimit
from funke.engine.graph.partitioners import Rebalance
from funke.engine.jobs.submission.job_code import pack_plan
from funke.engine.operators.block_parts import RecordsPart
from funke.engine.planner.chaining import to_job_graph
from funke.engine.planner.plan import to_plan
from funke.engine.runtime.blocks.block_codec import decode, encode_block
from funke.engine.runtime.blocks.frames import Frame
from funke.engine.runtime.epochs.delivery import consumed_at, deliver, end_slots, start_slot
from funke.engine.runtime.epochs.results import Failure
from funke.engine.runtime.slots.memory_watch import own_bytes_of
from funke.engine.runtime.slots.slot import Delivery, EpochHeader
from funke.engine.runtime.slots.slot_watch import Heartbeat
from funke.engine.runtime.slots.worker_setup import JobDeployment
from funke.engine.trust.credentials import Credentials
from funke.engine.types.driver_messages import LoggedLines, PrintedText
from funke.engine.types.operator_location import NOWHERE
from tests.unit.graph.sample_graphs import GraphBuilder

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc, and needs Linux's ties of processes")
SECRET = Credentials(b"s" * 32)
QUICK = Heartbeat(interval_ms=100, timeout_ms=2000)


class SlotUnderTest:
    """A slot whose only operator is a map."""

    def __init__(self, function: Callable[[Any], Any], **settings: Any) -> None:
        builder = GraphBuilder(parallelism=1)
        mapped = builder.map(
            builder.source(), "suspect", function=function, user_line="job.py:7", partitioner=Rebalance()
        )
        builder.sink(builder.map(mapped, "behind"))
        self.plan = to_plan(to_job_graph(builder.graph))
        deployment = replace(JobDeployment("job", "job", 0, SECRET, pack_plan(self.plan)), **settings)
        self.address = start_slot(0, deployment)
        self.epoch = 0

    def deliver(self, *values: Any) -> list[Any]:
        """Everything that comes back, as objects."""
        self.epoch += 1
        frame = Frame(0, self.plan.graph.edges[0].id, 0, encode_block([RecordsPart(list(values), None)]))
        consumed = consumed_at(self.plan, 1)
        answers = deliver(self.address, SECRET, Delivery(EpochHeader(self.epoch), 1), consumed, iter([frame]))
        return [decode(answer.payload) for answer in answers]

    def failure(self, *values: Any) -> Failure:
        (failure,) = [answer for answer in self.deliver(*values) if isinstance(answer, Failure)]
        return failure

    def printed(self, *values: Any) -> str:
        return "".join(message.text for message in self.deliver(*values) if isinstance(message, PrintedText))

    @property
    def folder(self) -> Path:
        return Path(self.address.path).parent

    def end(self) -> None:
        end_slots([self.address], SECRET)
        assert wait_until(lambda: not is_running(self.address.pid))
        assert not self.folder.exists()


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_until(condition: Callable[[], bool], seconds: float = 30) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end and not condition():
        time.sleep(0.02)
    return bool(condition())


@pytest.fixture
def start() -> Iterator[Callable[..., SlotUnderTest]]:
    started: list[SlotUnderTest] = []

    def run(function: Callable[[Any], Any], **settings: Any) -> SlotUnderTest:
        started.append(SlotUnderTest(function, **settings))
        return started[-1]

    yield run
    for slot in started:
        slot.end()


def exits(value: int) -> None:
    os._exit(value)


def crashes(value: int) -> None:
    import ctypes

    ctypes.string_at(0)


def leaves(value: int) -> None:
    sys.exit(value)


def kills(value: int) -> None:
    os.kill(os.getpid(), value)


@pytest.fixture(autouse=True)
def functions_by_value() -> Iterator[None]:
    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    yield
    cloudpickle.unregister_pickle_by_value(sys.modules[__name__])


def test_an_exit_names_operator_and_status(start: Any) -> None:
    slot = start(exits)
    failure = slot.failure(3)
    assert failure.is_slot_lost
    assert (failure.location.name, failure.location.user_line) == ("suspect", "job.py:7")
    assert "ended with exit status 3 while operator 'suspect' was running" in failure.message


def test_a_crash_names_operator_signal_and_the_users_line(start: Any) -> None:
    failure = start(crashes).failure(0)
    assert failure.location.name == "suspect"
    assert "was ended by signal 11 (SIGSEGV)" in failure.message
    assert "Segmentation fault" in failure.traceback_text and "in crashes" in failure.traceback_text
    assert "/funke/engine/" not in failure.traceback_text


def test_sys_exit_is_a_failure_of_the_operator(start: Any) -> None:
    failure = start(leaves).failure(5)
    assert not failure.is_slot_lost
    assert (failure.location.name, failure.error_type, failure.message) == ("suspect", "SystemExit", "5")
    assert "in leaves" in failure.traceback_text


def test_a_kill_from_outside_blames_no_operator(start: Any) -> None:
    failure = start(kills).failure(int(signal.SIGKILL))
    assert failure.location.name == ""
    assert "signal 9 (SIGKILL) while operator 'suspect' was running" in failure.message
    assert "memory" in failure.message


def test_a_slot_that_dies_between_two_epochs_blames_nobody(start: Any) -> None:
    slot = start(lambda value: os.getpid())
    (pid,) = {int(line) for line in slot.printed(1).split()}
    os.kill(pid, signal.SIGSEGV)
    failure = slot.failure(1)
    assert failure.location == NOWHERE
    assert f"process {pid} was ended by signal 11 (SIGSEGV)" in failure.message
    assert "while" not in failure.message
    assert not is_running(pid)


def test_the_folder_of_a_lost_slot_goes_when_nobody_calls(start: Any) -> None:
    slot = start(exits)
    slot.failure(1)
    assert wait_until(lambda: not slot.folder.exists())
    assert wait_until(lambda: not is_running(slot.address.pid))


def test_a_stopped_slot_is_lost_after_the_timeout(start: Any) -> None:
    slot = start(kills, heartbeat=QUICK)
    failure = slot.failure(int(signal.SIGSTOP))
    assert failure.is_slot_lost
    assert "had not answered for" in failure.message and "heartbeat.timeout" in failure.message
    assert "was stopped, or a call of a function into C code" in failure.message


def test_a_call_that_keeps_the_interpreter_is_lost_after_the_timeout(start: Any) -> None:
    failure = start(keeps_the_interpreter, heartbeat=QUICK).failure(60)
    assert failure.is_slot_lost and "while operator 'suspect' was running" in failure.message
    assert "heartbeat.timeout" in failure.message


def keeps_the_interpreter(seconds: int) -> None:
    import ctypes

    ctypes.PyDLL(None).sleep(seconds)


def slow(seconds: float) -> str:
    time.sleep(seconds / 2)
    end = time.monotonic() + seconds / 2
    while time.monotonic() < end:
        pass
    return "done"


def test_a_slow_function_is_not_taken_for_a_lost_slot(start: Any) -> None:
    slot = start(slow, heartbeat=QUICK)
    assert slot.printed(4.0) == "done\n"


def test_a_slot_that_does_not_end_is_killed(start: Any) -> None:
    slot = start(keeps_the_interpreter)
    failures: list[Failure] = []
    calling = threading.Thread(target=lambda: failures.append(slot.failure(60)))
    calling.start()
    assert wait_until(lambda: "funke-slot" in names_below(slot.address.pid))
    slot.end()
    calling.join(10)
    assert failures and failures[0].is_slot_lost


def test_a_slot_ends_with_its_executor_though_it_cannot_watch_it(start: Any) -> None:
    with subprocess.Popen(["sleep", "60"]) as executor:
        slot = start(keeps_the_interpreter, executor_pid=executor.pid)
        calling = threading.Thread(target=slot.deliver, args=(60,))
        calling.start()
        assert wait_until(lambda: "funke-slot" in names_below(slot.address.pid))
        executor.kill()
    calling.join(30)
    assert not calling.is_alive()
    assert wait_until(lambda: not is_running(slot.address.pid) and not slot.folder.exists())


def test_a_slot_ends_with_its_watcher(start: Any) -> None:
    slot = start(lambda value: os.getpid())
    pid = int(slot.printed(1))
    os.kill(slot.address.pid, signal.SIGKILL)
    assert wait_until(lambda: not is_running(pid))


def grows(megabytes: int) -> None:
    """Keeps what it gets, as functions do that never forget."""
    kept = []
    for _ in range(megabytes):
        kept.append(b"x" * (1 << 20))
        time.sleep(0.002)
    time.sleep(60)


def test_a_function_that_takes_too_much_is_named_before_memory_runs_short(start: Any) -> None:
    slot = start(grows, memory_limit=MemoryLimit(400 << 20, "my.key"))
    failure = slot.failure(2_000)
    assert failure.is_slot_lost and failure.location.name == "suspect"
    assert (
        "a slot may have 400 mb (my.key); most of it was taken while operator 'suspect' (job.py:7)" in failure.message
    )


def grows_a_little(megabytes: int) -> str:
    """Waits until the watcher has said something about it."""
    from funke.engine.runtime.monitoring.worker_logs import worker_logs

    kept = b"x" * ((megabytes << 20) - (own_bytes_of(os.getpid()) or 0))
    return str(wait_until(lambda: bool(worker_logs._lines)) and len(kept) > 0)


def test_before_that_there_is_a_warning(start: Any) -> None:
    slot = start(grows_a_little, memory_limit=MemoryLimit(400 << 20, "my.key"))
    answers = slot.deliver(360)
    text = " ".join(line.text for each in answers if isinstance(each, LoggedLines) for line in each.lines)
    assert "fails at 400 mb (my.key): most of it was taken while operator 'suspect' (job.py:7)" in text


def names_below(pid: int) -> list[str]:
    """What the children of a process are called."""
    results = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            before, _, after = stat.read_text().rpartition(")")
        except OSError:
            continue
        if int(after.split()[1]) == pid:
            results.append(before.partition("(")[2])
    return results


def is_socket(name: str) -> bool:
    try:
        return os.readlink(f"/proc/self/fd/{name}").startswith("socket:")
    except OSError:
        return False


def put(folder: str, pid: int, text: str) -> None:
    """A file of a process, which is there with all of its text or not at all."""
    part = Path(f"{folder}.{pid}")
    part.write_text(text)
    part.rename(Path(folder, str(pid)))


def forks(command: tuple[str, str]) -> str:
    folder, then = command
    for number in range(2):
        if os.fork() == 0:
            if number == 1:
                os.setsid()  # what leaves the session of the slot ends with it all the same
            sockets = [name for name in os.listdir("/proc/self/fd") if is_socket(name)]
            put(folder, os.getpid(), str(len(sockets)))
            time.sleep(60)
            os._exit(0)
    other = subprocess.Popen(["sleep", "60"], start_new_session=True, close_fds=False)
    put(folder, other.pid, "0")
    while len(os.listdir(folder)) < 3:
        time.sleep(0.01)
    if then == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    return then


@pytest.mark.parametrize("then", ["die", "go on"])
def test_what_a_function_has_forked_keeps_no_socket_and_ends_with_the_slot(
    start: Any, tmp_path: Path, then: str
) -> None:
    slot = start(forks)
    if then == "die":
        assert "SIGKILL" in slot.failure((str(tmp_path), then)).message
    else:
        assert slot.printed((str(tmp_path), then)) == "go on\n"
        assert slot.printed((str(tmp_path), then)) == "go on\n", "the slot serves on"
    children = [int(path.name) for path in tmp_path.iterdir()]
    assert {path.read_text() for path in tmp_path.iterdir()} == {"0"}
    slot.end()
    assert wait_until(lambda: not any(map(is_running, children)))


def splits(folder: str) -> str:
    if os.fork() == 0:
        Path(folder, str(os.getpid())).touch()
        return "child"
    return "parent"


def test_a_child_that_returns_does_not_become_a_second_slot(start: Any, tmp_path: Path) -> None:
    slot = start(splits)
    assert slot.printed(str(tmp_path)) == "parent\n"
    assert wait_until(lambda: len(list(tmp_path.iterdir())) == 1)
    (child,) = (int(path.name) for path in tmp_path.iterdir())
    assert wait_until(lambda: not is_running(child))
    assert slot.printed(str(tmp_path)) == "parent\n"


def prints(_value: Any) -> str:
    sys.stdout.write("text ")
    sys.stdout.buffer.write("bytes ü ".encode())
    for byte in "ä ".encode():
        sys.stdout.buffer.write(bytes([byte]))
    sys.stdout.buffer.write(b"\xff ")
    sys.stdout.buffer.flush()
    print("\ud800", end=" ", flush=True)
    return f"{sys.stdout.isatty()} {sys.stdout.encoding} {sys.stdout.fileno()} {sys.stdout.writable()}"


def test_standard_output_is_a_file_like_any_other(start: Any) -> None:
    assert start(prints).printed(1) == "text bytes ü ä \\xff \\ud800 False utf-8 1 True\n"


ORPHAN = """
import os, signal, sys, time
from pyspark.taskcontext import TaskContext
from funke.engine.runtime.epochs.delivery import executor_pid
from funke.engine.runtime.monitoring.worker_logs import worker_logs
from funke.engine.runtime.slots.worker_setup import JobDeployment
from funke.engine.trust.credentials import Credentials

package = JobDeployment("job", "job", 0, Credentials(b""), b"")
assert executor_pid(package) == os.getpid(), "outside of Spark, whoever starts a slot"
reading, writing = os.pipe()
daemon = os.fork()
if daemon == 0:
    os.setpgid(0, 0)
    if os.fork() == 0:
        TaskContext._getOrCreate()
        os.write(writing, b"%d\\n" % executor_pid(package))
        while os.getppid() == os.getpgrp():
            time.sleep(0.01)
        try:
            os.write(writing, b"%d\\n" % executor_pid(package))
        except Exception as error:
            os.write(writing, f"{type(error).__name__}\\n".encode())
        os._exit(0)
    time.sleep(60)
os.close(writing)
answers = os.fdopen(reading)
assert int(answers.readline()) == os.getpid(), "the process above the daemon"
os.kill(daemon, signal.SIGKILL)
os.waitpid(daemon, 0)
print(answers.readline().strip())
"""


def test_an_orphaned_worker_does_not_take_process_1_for_its_executor() -> None:
    command = [sys.executable, "-c", ORPHAN]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert ended.stdout.strip() == "SlotLostError", ended.stderr
