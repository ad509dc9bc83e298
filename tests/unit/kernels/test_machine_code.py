"""Where machine code is kept, whose is taken, how it is asked for and made."""

from __future__ import annotations

import logging
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from funke.engine.kernels import compiler, kernel, machine_code
from funke.engine.kernels.integer_index import find_integers
from funke.engine.kernels.kernel import Int64s, Kernel, address
from funke.engine.kernels.machine_code import SWITCH, Unavailable
from tests.harness.stranger import give_away

NAME = "integer_index.find_integers"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv(SWITCH, "on")
    monkeypatch.setattr(machine_code, "_compilers", [])
    return Path(machine_code.kept_folder())


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The modules that are started in the background."""
    modules: list[str] = []
    monkeypatch.setattr(machine_code, "make_in_background", lambda module: modules.append(module) or [])
    return modules


def doubled(values: Int64s, count: int) -> int:
    for row in range(count):
        values[row] += values[row]
    return count


def test_what_is_wanted_is_compiled_by_a_process_of_its_own_and_found(folder: Path, started: list[str]) -> None:
    # A process that has computed for long starts the compiler itself: nothing comes of that here.
    assert machine_code.load(NAME) is None
    assert machine_code.is_wanted()
    subprocess.run([sys.executable, "-m", "funke.engine.kernels.compiler"], check=True)
    assert not machine_code.is_wanted()
    assert [path.name for path in folder.iterdir()] == [f"{NAME}.o"]
    entry = machine_code.load(NAME)
    assert entry is not None
    find = Kernel(find_integers.function)
    find.attach(entry)
    slot_keys, slot_numbers, numbers = np.array([7, 0]), np.array([3, -1], np.int32), np.zeros(1, np.int64)
    table = address(slot_keys, np.int64), address(slot_numbers, np.int32), 1, 63
    native: Any = find.compiled(0)
    native(address(np.array([7]), np.int64), 1, *table, address(numbers, np.int64))
    assert numbers.tolist() == [3]


def test_files_are_for_this_user_alone(folder: Path) -> None:
    machine_code.write(str(folder), NAME, b"code")
    machine_code.load("another.kernel")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}
    assert machine_code.read(str(folder), NAME) == b"code"


def test_code_that_is_cut_short_or_of_somebody_else_is_not_loaded(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine_code.write(str(folder), NAME, b"machine code")
    path = folder / f"{NAME}.o"
    path.write_bytes(path.read_bytes()[:-1])
    assert machine_code.read(str(folder), NAME) is None
    machine_code.write(str(folder), NAME, b"machine code")
    give_away(path, monkeypatch)
    assert machine_code.read(str(folder), NAME) is None


def test_a_folder_that_others_may_enter_is_not_used(folder: Path) -> None:
    folder.chmod(0o755)
    with pytest.raises(Unavailable, match="others may enter"):
        machine_code.load(NAME)


def test_without_a_folder_of_the_users_own_there_is_no_machine_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/nothing/here")
    with pytest.raises(Unavailable, match="XDG_CACHE_HOME"):
        machine_code.load(NAME)
    assert not machine_code.is_wanted()


def test_a_long_job_has_its_kernels_compiled_while_it_runs(
    folder: Path, started: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine_code.time, "process_time", lambda: 0.5)
    machine_code.load(NAME)
    assert started == []
    monkeypatch.setattr(machine_code.time, "process_time", lambda: 1.5)
    machine_code.load(NAME)
    assert started == ["funke.engine.kernels.compiler"]


def test_what_was_asked_for_first_is_compiled_first(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[str] = []

    def compile_kernel(kernel: Kernel) -> bytes:
        built.append(kernel.name)
        if len(built) == 1:  # somebody asks for one more meanwhile
            ask("bytes_index.find_bytes", 3)
        return b"code"

    def ask(name: str, when: int) -> None:
        (folder / f"{name}.wanted").touch()
        os.utime(folder / f"{name}.wanted", (when, when))

    monkeypatch.setattr(compiler, "compile_kernel", compile_kernel)
    ask("integer_index.find_integers", 2)
    ask("join_rows.link_rows", 1)
    compiler.build()
    assert built == ["join_rows.link_rows", "integer_index.find_integers", "bytes_index.find_bytes"]


def test_the_end_of_a_program_has_them_compiled_if_any_is_wanted(
    folder: Path, started: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # The process of the tests has run for long already.
    monkeypatch.setattr(machine_code.time, "process_time", lambda: 0.5)
    machine_code.compile_wanted()
    assert started == []
    machine_code.load(NAME)
    machine_code.compile_wanted()
    assert started == ["funke.engine.kernels.compiler"]


def test_the_switch(folder: Path, started: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SWITCH, "use")
    assert machine_code.load(NAME) is None
    assert list(folder.iterdir()) == []
    monkeypatch.setenv(SWITCH, "off")
    with pytest.raises(Unavailable, match="FUNKE_KERNELS is off"):
        machine_code.load(NAME)


def test_what_cannot_be_compiled_is_not_tried_again_the_same_day(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(environment: Kernel) -> bytes:
        raise RuntimeError("no such processor")

    machine_code.load(NAME)
    monkeypatch.setattr(compiler, "compile_kernel", fail)
    compiler.build()
    assert "no such processor" in (folder / f"{NAME}.failed").read_text()
    with pytest.raises(Unavailable, match="could not be compiled"):
        machine_code.load(NAME)
    os.utime(folder / f"{NAME}.failed", (0, 0))
    assert machine_code.load(NAME) is None


def test_old_versions_go(folder: Path) -> None:
    for number in range(6):
        old = folder.parent / f"kernels-{number}"
        old.mkdir(mode=0o700)
        os.utime(old, (number, number))
    machine_code.load(NAME)
    compiler.build()
    assert sorted(path.name for path in folder.parent.glob("kernels-?")) == ["kernels-3", "kernels-4", "kernels-5"]


def test_a_kernel_is_looked_for_when_enough_rows_want_it(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[str] = []
    monkeypatch.setattr(machine_code, "load", looks.append)
    doubling = Kernel(doubled)
    assert doubling.compiled(150_000) is None
    assert looks == []
    assert doubling.compiled(150_000) is None
    assert looks == ["test_machine_code.doubled"]


def test_that_there_are_no_kernels_is_said_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(kernel, "_warned", set())
    monkeypatch.setitem(sys.modules, "llvmlite.binding", None)
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            assert Kernel(doubled).compiled(1_000_000) is None
    assert [record.getMessage() for record in caplog.records if "numba is not installed" in record.getMessage()] == [
        caplog.records[0].getMessage()
    ]


def test_a_kernel_that_could_raise_is_rejected() -> None:
    def divided(values: Int64s, count: int) -> None:
        for row in range(count):
            values[row] //= values[row]

    with pytest.raises(TypeError, match="must not raise"):
        compiler.compile_kernel(Kernel(divided))


def test_a_kernel_has_parameters_of_known_types_only() -> None:
    def wrong(values: list, count: int) -> None: ...  # type: ignore[type-arg]

    with pytest.raises(TypeError, match="types that kernels do not have"):
        Kernel(wrong)


def test_both_forms_of_a_kernel_agree() -> None:
    doubling, values = Kernel(doubled), np.array([1, -2, 2**62])
    doubling.attach(machine_code.load_object(compiler.compile_kernel(doubling)))
    native: Any = doubling.compiled(0)
    plain = values.copy()
    assert native(address(values, np.int64), 3) == doubling(plain, 3) == 3
    assert values.tolist() == plain.tolist() == [2, -4, -(2**63)]
