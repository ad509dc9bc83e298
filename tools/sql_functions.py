"""Writes docs/sql-functions.md from the table of functions.

python tools/sql_functions.py            write the page
python tools/sql_functions.py --check    fail if the page is not what the table says
"""

from __future__ import annotations

import sys
from pathlib import Path

from funke.engine.sql.functions.aggregates.aggregate import AggregateFunction
from funke.engine.sql.functions.aggregates.catalog import AGGREGATES
from funke.engine.sql.functions.catalog import GROUPS
from funke.engine.sql.functions.function import Function

PAGE = Path(__file__).resolve().parent.parent / "docs" / "sql-functions.md"

INTRODUCTION = """# SQL functions

Every scalar function and operator, with the arguments that it takes and what it gives. `?` stands behind an argument
that may be left out, `...` behind one that may be repeated, `/` between alternatives; `symbol` is a word or a type that
belongs to the syntax. Functions give NULL if an argument is NULL unless it is said otherwise. Functions marked with *
have a kernel that works on whole columns, for some or all types of arguments; the others run value by value.

`python tools/sql_functions.py` writes this page.
"""


def main(arguments: list[str]) -> int:
    page = to_markdown()
    if arguments == ["--check"]:
        return 0 if PAGE.read_text(encoding="utf-8") == page else 1
    PAGE.write_text(page, encoding="utf-8")
    return 0


def to_markdown() -> str:
    """The page's text."""
    lines = [INTRODUCTION]
    for title, functions in GROUPS.items():
        lines += [f"## {title}", "", "| function | arguments | gives |", "|---|---|---|"]
        lines += [row(each) for each in functions]
        lines.append("")
    lines += ["## Aggregates", "", "| function | arguments | gives |", "|---|---|---|"]
    lines += [row(each) for each in AGGREGATES if not each.name.startswith("$")]
    return "\n".join(lines).rstrip() + "\n"


def row(function: Function | AggregateFunction) -> str:
    mark = " *" if function.kernel_for is not None else ""
    names = ", ".join(code(name.upper()) for name in function.names if not name.startswith("$")) + mark
    forms = "; ".join(f"({form.text})" for form in function.alternatives)
    return f"| {names} | {forms} | {function.purpose} |"


def code(name: str) -> str:
    return f"`{name}`".replace("|", "\\|")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
