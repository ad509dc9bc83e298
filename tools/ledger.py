"""Keeps docs/capabilities.csv, the ledger of what users asked for and what proves that it works.

    python tools/ledger.py count                                  how many rows have which status
    python tools/ledger.py show WMK-04 STK                        rows by id or by prefix
    python tools/ledger.py set WMK-04 works --tests tests/a.py::test_b tests/a.py::test_c
    python tools/ledger.py set WMK-04 WMK-05 works --how "..." --tests ...
    python tools/ledger.py set --from rows.txt                    lines `ID | status | how | tests`
    python tools/ledger.py check                                  every rule that a row breaks

What is left out of `set` (or left empty in a line) keeps its value. Tests are separated by spaces.
"""

from __future__ import annotations

import argparse
import ast
import csv
import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LEDGER = ROOT / "docs" / "capabilities.csv"

COLUMNS = ("id", "capability", "status", "how", "tests")
# works: tests prove it. spark: Spark provides it, `how` says with what. planned: not yet. not applicable: `how`
# says why.
STATUSES = ("works", "spark", "planned", "not applicable")

# Programs that are run here and by the reference; rows name them under `how`.
PROGRAMS = Path("tests", "differential", "programs")
_PROGRAM_TEST = "test_output_is_that_of_the_reference"
_NAMED_PROGRAMS = re.compile(r"Differential programs?: ([\w, ]+)")
# Tests that set an option and read it again: they show that it is taken, and not that it has an effect.
READS_BACK = (
    "tests/unit/common/test_execution_config.py",
    "tests/unit/datastream/test_checkpoint_config.py",
    "tests/unit/datastream/test_environment.py",
    "tests/unit/datastream/test_state_backends.py",
    "tests/unit/jobs/checkpoints/test_checkpoint_coordinator.py::test_commands_carry_the_settings",
    "tests/unit/jobs/checkpoints/test_checkpoint_settings.py",
)
# Rows about configuration itself: which value holds is all that they ask for.
ABOUT_SETTINGS = ("ENV-13", "ENV-16", "GAP-20")
# Areas of streams, which are pipelined: epochs explain nothing there.
PIPELINED_AREAS = ("BPR", "CFG", "CKP", "NET", "PRF", "RPC", "SCH", "SEM", "SLT", "SRC", "TIM", "UCP", "WMK")
_EPOCH = re.compile(r"\bepochs?\b", re.IGNORECASE)


@dataclass(frozen=True)
class Row:
    """One capability that users asked for."""

    id: str
    capability: str
    status: str
    how: str
    tests: str


class LedgerError(ValueError):
    """A change that the ledger cannot take."""


def read(path: Path = LEDGER) -> list[Row]:
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        if tuple(reader.fieldnames or ()) != COLUMNS:
            raise LedgerError(f"{path.name} needs the columns {', '.join(COLUMNS)}; it has {reader.fieldnames}")
        return [Row(**record) for record in reader]


def write(rows: list[Row], path: Path = LEDGER) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows([row.id, row.capability, row.status, row.how, row.tests] for row in rows)


def with_change(rows: list[Row], row_id: str, status: str, how: str = "", tests: str = "") -> list[Row]:
    """The rows with one of them changed; empty texts keep what is there."""
    if row_id not in {row.id for row in rows}:
        raise LedgerError(f"there is no row {row_id}")
    if status not in STATUSES:
        raise LedgerError(f"{row_id}: status {status!r} is none of {', '.join(STATUSES)}")
    return [
        replace(row, status=status, how=how or row.how, tests=tests or row.tests) if row.id == row_id else row
        for row in rows
    ]


def parse_lines(text: str) -> Iterator[tuple[str, str, str, str]]:
    """Changes from lines `ID | status | how | tests`; empty lines and lines that start with # are skipped."""
    for line in text.splitlines():
        if line.strip() and not line.lstrip().startswith("#"):
            fields = [field.strip() for field in line.split("|")]
            if not 2 <= len(fields) <= 4:
                raise LedgerError(f"a line is `ID | status | how | tests`, with no other bars: {line}")
            row_id, status, how, tests = fields + [""] * (4 - len(fields))
            yield row_id, status, how, " ".join(tests.split())


def problems(rows: list[Row], root: Path = ROOT) -> Iterator[str]:
    """Every rule that a row breaks, one line each."""
    for row_id, count in Counter(row.id for row in rows).items():
        if count > 1:
            yield f"{row_id} stands {count} times"
    for row in rows:
        yield from row_problems(row, root)


def row_problems(row: Row, root: Path) -> Iterator[str]:
    if row.status not in STATUSES:
        yield f"{row.id}: status {row.status!r} is none of {', '.join(STATUSES)}"
    if row.status in ("spark", "not applicable") and not row.how.strip():
        yield f"{row.id}: status {row.status!r} needs a text under `how`"
    if row.status == "works" and not row.tests.strip():
        yield f"{row.id}: status 'works' needs the tests that prove it"
    for test in row.tests.split():
        if not has_test(root, test):
            yield f"{row.id}: there is no test {test}"
    yield from proof_problems(row, root)


def proof_problems(row: Row, root: Path) -> Iterator[str]:
    """What is wrong with how a row is proven, or explained."""
    tests, programs = row.tests.split(), named_programs(row)
    for program in programs:
        if not (root / PROGRAMS / f"{program}.py").is_file():
            yield f"{row.id}: there is no program {program} in {PROGRAMS.as_posix()}"
    if not programs and any(test.endswith(_PROGRAM_TEST) for test in tests):
        yield f"{row.id}: `how` does not name the differential program that shows it"
    is_read_back = [any(test == each or test.startswith(f"{each}::") for each in READS_BACK) for test in tests]
    if row.status == "works" and tests and all(is_read_back) and row.id not in ABOUT_SETTINGS:
        yield f"{row.id}: its tests only read a setting back"
    if row.id.partition("-")[0] in PIPELINED_AREAS and _EPOCH.search(row.how):
        yield f"{row.id}: epochs explain nothing of streams, which are pipelined"


def named_programs(row: Row) -> list[str]:
    """The differential programs that a row names: `Differential programs: word_count, joins.`"""
    return [name.strip() for names in _NAMED_PROGRAMS.findall(row.how) for name in names.split(",")]


def has_test(root: Path, test: str) -> bool:
    """Whether `path::function` or `path::Class::function` exists, by reading the file without running it."""
    path, _, name = test.partition("::")
    function = name.rpartition("::")[2]
    is_test = path.startswith("tests/") and function.startswith("test_")
    return is_test and name in test_names(root / path)


@cache
def test_names(path: Path) -> frozenset[str]:
    """Names of all functions in a file, those of classes as `Class::function`."""
    if not path.is_file():
        return frozenset()
    return frozenset(names_in(ast.parse(path.read_text(encoding="utf-8")), ""))


def names_in(tree: ast.Module | ast.ClassDef, prefix: str) -> Iterator[str]:
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield prefix + node.name
        elif isinstance(node, ast.ClassDef):
            yield from names_in(node, f"{prefix}{node.name}::")


def main(arguments: list[str], path: Path = LEDGER) -> int:
    options = parse_arguments(arguments)
    try:
        return COMMANDS[options.command](options, path)
    except LedgerError as error:
        print(f"ledger: {error}", file=sys.stderr)
        return 1


def parse_arguments(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tools/ledger.py", description=(__doc__ or "").partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("count", help="how many rows have which status")
    commands.add_parser("check", help="every rule that a row breaks")
    show = commands.add_parser("show", help="rows by id or by prefix")
    show.add_argument("ids", nargs="+")
    change = commands.add_parser("set", help="change rows")
    change.add_argument("words", nargs="*", metavar="ID ... status")
    change.add_argument("--how", default="")
    change.add_argument("--tests", nargs="+", default=[])
    change.add_argument("--from", dest="file", type=Path, help="a file of lines `ID | status | how | tests`")
    return parser.parse_args(arguments)


def run_count(_options: argparse.Namespace, path: Path) -> int:
    counts = Counter(row.status for row in read(path))
    for status in STATUSES:
        print(f"{counts[status]:5} {status}")
    print(f"{sum(counts.values()):5} in all")
    return 0


def run_check(_options: argparse.Namespace, path: Path) -> int:
    lines = list(problems(read(path)))
    print("\n".join(lines) or "ledger: every row is in order")
    return 1 if lines else 0


def run_show(options: argparse.Namespace, path: Path) -> int:
    for row in read(path):
        if row.id in options.ids or row.id.partition("-")[0] in options.ids:
            print(f"{row.id}  {row.status}  {row.capability}")
            for text in (row.how, *row.tests.split()):
                if text:
                    print(f"        {text}")
    return 0


def run_set(options: argparse.Namespace, path: Path) -> int:
    changes = list(changes_from(options))
    rows = read(path)
    for row_id, status, how, tests in changes:
        rows = with_change(rows, row_id, status, how, tests)
    write(rows, path)
    print(f"ledger: {len(changes)} row(s) set")
    return 0


def changes_from(options: argparse.Namespace) -> Iterator[tuple[str, str, str, str]]:
    if options.file:
        yield from parse_lines(options.file.read_text(encoding="utf-8"))
        return
    if len(options.words) < 2:
        raise LedgerError("set needs one or more ids and a status, or --from a file")
    *ids, status = options.words
    for row_id in ids:
        yield row_id, status, options.how, " ".join(options.tests)


COMMANDS = {"count": run_count, "check": run_check, "show": run_show, "set": run_set}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
