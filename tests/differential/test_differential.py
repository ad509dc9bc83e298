"""Programs give on Funke what they gave on the reference PyFlink, whose recorded output is in `golden/`."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

import pytest

from tests.differential.program_output import (
    GOLDEN,
    TIME_ZONE,
    StdoutFile,
    load_program,
    normalised,
    program_names,
    run_as_script,
)

# Program -> why its output still differs. Each entry is a strict xfail: it fails the suite once the gap is closed.
KNOWN_GAPS: dict[str, str] = {}


def _parameters() -> list[object]:
    return [
        pytest.param(name, marks=pytest.mark.xfail(reason=KNOWN_GAPS[name], strict=True))
        if name in KNOWN_GAPS
        else name
        for name in program_names()
    ]


@pytest.fixture(scope="module")
def stdout_file(tmp_path_factory: pytest.TempPathFactory) -> StdoutFile:
    return StdoutFile(tmp_path_factory.mktemp("differential") / "stdout")


@pytest.fixture(scope="module")
def pyflink_is_funke() -> Iterator[None]:
    """`import pyflink` gives Funke, and times are told in the zone of the recording."""
    from funke import alias

    saved_zone = os.environ.get("TZ")
    os.environ["TZ"] = TIME_ZONE
    time.tzset()
    alias.install()
    yield
    if saved_zone is None:
        del os.environ["TZ"]
    else:
        os.environ["TZ"] = saved_zone
    time.tzset()


@pytest.mark.spark
@pytest.mark.parametrize("name", _parameters())
def test_output_is_that_of_the_reference(name: str, stdout_file: StdoutFile, pyflink_is_funke: None) -> None:
    program = load_program(name)
    with stdout_file.captured():
        run_as_script(program)
    golden = program.golden_path.read_text(encoding="utf-8").splitlines()
    assert normalised(program, stdout_file.text()) == golden


def test_every_program_has_a_golden_file_and_every_golden_file_a_program() -> None:
    assert sorted(path.stem for path in GOLDEN.glob("*.txt")) == program_names()


def test_known_gaps_are_programs() -> None:
    assert set(KNOWN_GAPS) <= set(program_names())
