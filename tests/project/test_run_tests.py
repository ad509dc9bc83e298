"""A test that fails beside others and passes alone is reported as flaky; one that fails twice is red."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# Fails as often as its number of remaining failures says, which it counts down in a file.
FLAKY = """
import pathlib
def test_{name}():
    file = pathlib.Path(__file__).with_name("{name}.left")
    left = int(file.read_text())
    file.write_text(str(max(left - 1, 0)))
    assert left == 0, "{name} met a busy machine"
"""


def run(folder: Path, *arguments: str) -> tuple[int, list[str]]:
    (folder / "pytest.ini").write_text("[pytest]\naddopts = -p no:cacheprovider -p xdist\n")
    command = [sys.executable, str(ROOT / "tools" / "run_tests.py"), "-q", *arguments]
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # starts in half the time
    result = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    return result.returncode, result.stdout.strip().splitlines()


def add_test(folder: Path, name: str, failures: int) -> None:
    (folder / f"{name}.left").write_text(str(failures))
    (folder / f"test_{name}.py").write_text(FLAKY.format(name=name))


def closing(line: str) -> str:
    return re.sub(r" in [\d.]+s.*", "", line)


def test_all_green_is_pytests_own_output(tmp_path: Path) -> None:
    add_test(tmp_path, "steady", 0)
    code, lines = run(tmp_path)
    assert (code, closing(lines[-1])) == (0, "1 passed")


@pytest.mark.parametrize("processes", ["0", "2"])
def test_what_passes_alone_is_flaky_and_green(tmp_path: Path, processes: str) -> None:
    add_test(tmp_path, "steady", 0)
    add_test(tmp_path, "shaky", 1)
    code, lines = run(tmp_path, "-n", processes)
    assert (code, closing(lines[-1])) == (0, "2 passed, 1 flaky")
    report = "\n".join(lines[lines.index("FLAKY test_shaky.py::test_shaky (call)") :])
    assert "shaky met a busy machine" in report


def test_what_fails_twice_is_red(tmp_path: Path) -> None:
    add_test(tmp_path, "steady", 0)
    add_test(tmp_path, "shaky", 1)
    add_test(tmp_path, "broken", 2)
    code, lines = run(tmp_path)
    assert (code, closing(lines[-1])) == (1, "1 failed, 2 passed, 1 flaky")
    assert "FAILED TWICE test_broken.py::test_broken" in lines


@pytest.mark.parametrize(("flaky", "expected"), [(3, (0, "3 passed, 3 flaky")), (4, (1, "4 failed, 4 flaky"))])
def test_more_than_three_flaky_tests_are_red(tmp_path: Path, flaky: int, expected: tuple[int, str]) -> None:
    for index in range(flaky):
        add_test(tmp_path, f"shaky_{index}", 1)
    code, lines = run(tmp_path)
    assert (code, closing(lines[-1])) == expected


def test_a_flaky_teardown_is_flaky_too(tmp_path: Path) -> None:
    add_test(tmp_path, "cleanup", 1)
    body = (tmp_path / "test_cleanup.py").read_text().replace("def test_cleanup", "def count_down")
    fixture = "\nimport pytest\n@pytest.fixture\ndef tidy():\n    yield\n    count_down()\ndef test_it(tidy): pass\n"
    (tmp_path / "test_cleanup.py").write_text(body + fixture)
    code, lines = run(tmp_path)
    assert (code, closing(lines[-1])) == (0, "1 passed, 1 flaky")
    assert "FLAKY test_cleanup.py::test_it (teardown)" in lines


def test_a_test_that_is_skipped_the_second_time_has_not_passed(tmp_path: Path) -> None:
    add_test(tmp_path, "vague", 1)
    body = (tmp_path / "test_vague.py").read_text()
    (tmp_path / "test_vague.py").write_text(body + "    import pytest; pytest.skip('not today')\n")
    code, lines = run(tmp_path)
    assert (code, closing(lines[-1])) == (1, "1 failed")


def test_a_module_that_cannot_be_imported_is_red(tmp_path: Path) -> None:
    (tmp_path / "test_typo.py").write_text("import no_such_module\n")
    code, lines = run(tmp_path)
    assert code != 0
    assert "1 error" in lines[-1]


def test_a_process_that_dies_under_its_test_once_is_flaky(tmp_path: Path) -> None:
    add_test(tmp_path, "crash", 1)
    body = (
        (tmp_path / "test_crash.py")
        .read_text()
        .replace("    assert left == 0", "    import os; left and os._exit(3)  #")
    )
    (tmp_path / "test_crash.py").write_text(body)
    add_test(tmp_path, "steady", 0)
    code, lines = run(tmp_path, "-n", "1")
    assert (code, closing(lines[-1])) == (0, "2 passed, 1 flaky")


def test_very_many_failures_are_not_run_again(tmp_path: Path) -> None:
    body = "import pytest\n@pytest.mark.parametrize('i', range(31))\ndef test_it(i): assert False\n"
    (tmp_path / "test_many.py").write_text(body)
    code, lines = run(tmp_path, "--tb=no")
    assert (code, closing(lines[-1])) == (1, "31 failed")
    assert not any("Once more" in line for line in lines)


def test_nothing_to_run_keeps_pytests_exit_code(tmp_path: Path) -> None:
    code, lines = run(tmp_path)
    assert code == pytest.ExitCode.NO_TESTS_COLLECTED
    assert "no tests ran" in lines[-1]
