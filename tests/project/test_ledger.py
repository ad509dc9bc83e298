"""The ledger of capabilities is complete, and what it calls working names tests that exist."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools import ledger
from tools.ledger import Row

ROOT = Path(__file__).resolve().parents[2]
IDS = (Path(__file__).parent / "capability_ids.txt").read_text(encoding="utf-8").split()


def test_the_ledger_holds_every_capability_once_and_in_order() -> None:
    assert len(IDS) == 573
    assert [row.id for row in ledger.read()] == IDS


def test_every_row_of_the_ledger_is_in_order() -> None:
    assert list(ledger.problems(ledger.read())) == []


def test_the_file_is_written_the_way_the_tool_writes_it(tmp_path: Path) -> None:
    copy = tmp_path / "copy.csv"
    ledger.write(ledger.read(), copy)
    assert copy.read_text(encoding="utf-8") == ledger.LEDGER.read_text(encoding="utf-8")


def row(status: str, how: str = "", tests: str = "") -> Row:
    return Row("AAA-01", "a thing", status, how, tests)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_a.py").write_text(
        "def test_one(): pass\n"
        "async def test_two(): pass\n"
        "class TestC:\n"
        "    def test_three(self): pass\n"
        "def helper(): pass\n"
        "def test_output_is_that_of_the_reference(): pass\n"
    )
    settings = tmp_path / "tests" / "unit" / "datastream" / "test_environment.py"
    programs = tmp_path / "tests" / "differential" / "programs"
    for folder in (settings.parent, programs):
        folder.mkdir(parents=True)
    settings.write_text("def test_settings(): pass\n")
    for name in ("counts", "sums"):
        (programs / f"{name}.py").touch()
    return tmp_path


@pytest.mark.parametrize(
    "good",
    [
        row("planned"),
        row("spark", how="by its scheduler"),
        row("not applicable", how="a Java class"),
        row("works", tests="tests/test_a.py::test_one"),
        row("works", tests="tests/test_a.py::test_two tests/test_a.py::TestC::test_three"),
        row("works", how="Differential programs: counts, sums. More.", tests="tests/test_a.py::test_one"),
        row("works", how="Batch jobs run in epochs.", tests="tests/test_a.py::test_one"),
    ],
)
def test_rows_in_order_pass(project: Path, good: Row) -> None:
    assert list(ledger.problems([good], project)) == []


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (row("done"), "status 'done' is none of works, spark, planned, not applicable"),
        (row("spark"), "status 'spark' needs a text under `how`"),
        (row("not applicable", how=" "), "status 'not applicable' needs a text under `how`"),
        (row("works"), "status 'works' needs the tests that prove it"),
        (row("works", tests="tests/test_a.py::test_four"), "there is no test tests/test_a.py::test_four"),
        (row("works", tests="tests/test_a.py::test_three"), "there is no test tests/test_a.py::test_three"),
        (row("works", tests="tests/test_a.py::helper"), "there is no test tests/test_a.py::helper"),
        (row("works", tests="tests/test_b.py::test_one"), "there is no test tests/test_b.py::test_one"),
        (row("works", tests="tests/test_a.py"), "there is no test tests/test_a.py"),
        (row("planned", tests="tests/test_b.py::test_one"), "there is no test tests/test_b.py::test_one"),
    ],
)
def test_a_broken_rule_is_named(project: Path, bad: Row, message: str) -> None:
    assert list(ledger.problems([bad], project)) == [f"AAA-01: {message}"]


SETTING = "tests/unit/datastream/test_environment.py::test_settings"
REFERENCE = "tests/test_a.py::test_output_is_that_of_the_reference"


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (
            row("works", how="Differential programs: counts, maxima.", tests=REFERENCE),
            "there is no program maxima in tests/differential/programs",
        ),
        (row("works", tests=REFERENCE), "`how` does not name the differential program that shows it"),
        (row("works", tests=SETTING), "its tests only read a setting back"),
    ],
)
def test_a_weak_proof_is_named(project: Path, bad: Row, message: str) -> None:
    assert list(ledger.problems([bad], project)) == [f"AAA-01: {message}"]


def test_a_row_about_settings_may_rest_on_reading_them(project: Path) -> None:
    assert list(ledger.problems([Row("ENV-16", "which value holds", "works", "", SETTING)], project)) == []
    assert list(ledger.problems([row("works", tests=f"{SETTING} tests/test_a.py::test_one")], project)) == []


def test_rows_of_streams_do_not_speak_of_epochs(project: Path) -> None:
    stale = Row("CKP-04", "barriers", "planned", "The end of an epoch.", "")
    assert list(ledger.problems([stale], project)) == ["CKP-04: epochs explain nothing of streams, which are pipelined"]


def test_an_id_that_stands_twice_is_named(project: Path) -> None:
    assert list(ledger.problems([row("planned"), row("planned")], project)) == ["AAA-01 stands 2 times"]


@pytest.fixture
def small_ledger(tmp_path: Path) -> Path:
    path = tmp_path / "ledger.csv"
    ledger.write([row("planned", how="an idea"), Row("AAA-02", "another, with a comma", "planned", "", "")], path)
    return path


def test_set_changes_several_rows_and_keeps_what_is_left_out(small_ledger: Path) -> None:
    assert ledger.main(["set", "AAA-01", "AAA-02", "works", "--tests", "tests/a.py::test_b", "c"], small_ledger) == 0
    assert ledger.read(small_ledger) == [
        row("works", how="an idea", tests="tests/a.py::test_b c"),
        Row("AAA-02", "another, with a comma", "works", "", "tests/a.py::test_b c"),
    ]


def test_set_takes_lines_from_a_file(small_ledger: Path, tmp_path: Path) -> None:
    lines = tmp_path / "lines.txt"
    lines.write_text("# a note\n\nAAA-01 | works | | tests/a.py::test_b  c\nAAA-02 | spark | its shuffle\n")
    assert ledger.main(["set", "--from", str(lines)], small_ledger) == 0
    assert ledger.read(small_ledger) == [
        row("works", how="an idea", tests="tests/a.py::test_b c"),
        Row("AAA-02", "another, with a comma", "spark", "its shuffle", ""),
    ]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["ZZZ-01", "works"], "there is no row ZZZ-01"),
        (["AAA-01", "done"], "AAA-01: status 'done' is none of"),
        (["AAA-01"], "set needs one or more ids and a status"),
    ],
)
def test_a_change_that_cannot_be_is_rejected(
    small_ledger: Path, capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    before = small_ledger.read_text()
    assert ledger.main(["set", *words], small_ledger) == 1
    assert message in capsys.readouterr().err
    assert small_ledger.read_text() == before


def test_count_and_show_print_rows(small_ledger: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ledger.main(["count"], small_ledger)
    ledger.main(["show", "AAA-01"], small_ledger)
    printed = capsys.readouterr().out
    assert "2 planned" in printed
    assert "AAA-01  planned  a thing\n        an idea\n" in printed
    assert "AAA-02" not in printed
