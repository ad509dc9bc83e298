"""An example for each SQL function, with its result; the documentation shows them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from funke.engine.sql.results.value_text import value_text
from tests.harness.sql_changelogs import RunningQuery, bound_query

__all__ = ["EXAMPLES", "Example", "examples", "result_of", "updated"]

EXAMPLES = Path(__file__).parents[1] / "sql" / "function_examples.txt"
# The table that examples read.
ROWS = [("+I", (3, "b")), ("+I", (1, "a")), ("+I", (3, "c"))]
_MARK = "  -->  "


@dataclass(frozen=True)
class Example:
    """A function by its first name, an expression, and what it gives; nothing where that is another each time."""

    function: str
    expression: str
    result: str


def examples() -> Iterator[Example]:
    """Those of the file."""
    for line in EXAMPLES.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            function, rest = line.split(" : ", 1)
            expression, _, result = rest.partition(_MARK)
            yield Example(function, expression, result)


def result_of(expression: str) -> str:
    """What an expression gives, as a result shows it: of all rows for an aggregate, else of the first one."""
    relation = bound_query(f"SELECT {expression} AS x FROM t", v="INT", s="STRING")
    (*_, (_, (value,))) = RunningQuery(relation).feed(ROWS)
    return "NULL" if value is None else value_text(value, relation.columns[0].type, None)


def updated() -> str:
    """The file, with the results of today."""
    lines = []
    for line in EXAMPLES.read_text(encoding="utf-8").splitlines():
        before, mark, _ = line.partition(_MARK)
        lines.append(f"{before}{mark}{result_of(before.split(' : ', 1)[1])}" if mark else line)
    return "\n".join(lines) + "\n"
