"""Writes docs/sql-functions.md from the table of functions.

python tools/sql_functions.py            write the page
python tools/sql_functions.py --check    fail if the page is not what the table says
"""

from __future__ import annotations

import functools
import sys
from pathlib import Path

from funke.engine.sql.functions.aggregates.aggregate import AggregateFunction
from funke.engine.sql.functions.aggregates.catalog import AGGREGATES
from funke.engine.sql.functions.catalog import GROUPS
from funke.engine.sql.functions.function import Function

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "sql-functions.md"
# The test suite computes them.
EXAMPLES = ROOT / "tests" / "sql" / "function_examples.txt"

INTRODUCTION = """# SQL functions

All scalar functions and operators, with their arguments and results. `?` marks an optional argument, `...` a repeated
one, `/` separates alternatives; `symbol` is a word or a type that belongs to the syntax. Functions return NULL if an
argument is NULL, unless the table says otherwise. Functions marked with * have a kernel that works on whole columns,
for some or all argument types; the others run value by value.

`python tools/sql_functions.py` writes this page.
"""

DIFFERENCES = """
## What is different from Flink

Thousands of random expressions and hundreds of queries give the same results as Flink's engine
(`tests/differential/sql`), with these exceptions:

- **Years** are those of Python, 1 to 9999: a date or time beyond them is an error, or NULL where Flink's text has a
  wrong year.
- **Before 1970** Flink rounds fractions of a second towards 1970: YEAR(TIMESTAMP '1969-12-31 23:59:59.5') is 1970 there
  and 1969 here; the same for EXTRACT, FLOOR, CEIL and casts, and SECOND may be below 0 there. Before 1582 some of its
  functions count by the Julian calendar.
- **The last digit** of SIN, COSH, EXP, POWER and similar functions may differ: C libraries compute them, not Java.
- **ROUND and TRUNCATE** return NaN and infinities, for which Flink fails; with a variable number of digits
  Flink moves the point of decimals.
- **NaN** is not equal to itself, also where Flink recognises that two expressions are the same; a decimal beside NaN
  is not less than it.
- **Decimals modulo integers** of another type: Flink shortens a decimal that does not fit in another way.
- **Decimals of texts and quotients**: TRY_CAST('A' AS DECIMAL(10, 2)) is NULL; Flink takes a single letter for 0. A
  quotient has the digits of its type, which Flink's may exceed. A constant -0.0 keeps its sign.
- **Maps** have unique keys that are not NULL; MAP and MAP_FROM_ARRAYS reject others. Keys stay in their order, also
  those of STR_TO_MAP.
- **Missing elements** of constant arrays and maps, ARRAY[1, 2, 3][9], are NULL; Flink gives -1.
- **Arrays and maps** of different types are not compared, and NULL in an array is equal to NULL; in Flink only if no
  function has made the array.
- **IN**: `'a' IN ('x', s)` compares all of s; Flink cuts s to the length of the constant. A text beside a NULL of
  another type is rejected, also if that is a constant.
- **COALESCE** computes only the arguments it needs; in Flink an unneeded argument may fail.
- **TIMESTAMPDIFF(WEEK, …)** is right for more than 68 years, too.
- **TO_DATE** with a pattern gives NULL for a text that does not fit; Flink gives a day of the year 1705471.
- **Characters beyond the first 65536** stay whole in regular expressions and SPLIT and are one in OVERLAY; Flink can
  cut them in two. JSON_QUOTE writes their right codes.
- **BTRIM and LTRIM** trim every text; Flink's leave the result of CONCAT_WS unchanged, or fail.
- **JSON_ARRAYAGG, JSON_OBJECTAGG** put quotes around texts in group windows too, where Flink forgets them.
- **CEIL(date TO DAY)** is the date itself; Flink takes the next day. CEIL of 10 o'clock on the first day of a week,
  month or year is the start of the next one; Flink gives the start of this one.
- **RANK** follows the standard for rows of the same time.
- **INTERSECT ALL and EXCEPT ALL** compare all columns, also unread ones; Flink drops these.
- **Not supported**: ML_PREDICT, and other functions that need a model.
- **Structured values** (OBJECT_OF, OBJECT_UPDATE, STRUCTURED<'name', …>) are rows with the name of a class; `collect()`
  returns rows, PyFlink cannot collect them.
- **BITMAP**: its functions and aggregates, =, <>, groups, CAST to texts. `collect()` returns its bytes; PyFlink cannot
  collect it. Equal bitmaps have equal bytes here; Flink's may have runs or lists of the same length.
- **TO_CHANGELOG, FROM_CHANGELOG** reject arguments with unknown names, which Flink ignores.
- **VARIANT**: PARSE_JSON, access by `[]`, JSON_STRING, =, <>, groups; as in Flink it cannot be cast. `collect()`
  returns its JSON as a string; PyFlink cannot collect it.
- **More than Flink**: OCTET_LENGTH, SUBSTRING and || of bytes, ATAN2 and GREATEST of mixed numbers, OFFSET without
  LIMIT, sessions of table functions in batch mode.
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
    head = ["| function | arguments | gives | example |", "|---|---|---|---|"]
    for title, functions in GROUPS.items():
        lines += [f"## {title}", "", *head]
        lines += [row(each) for each in functions]
        lines.append("")
    lines += ["## Aggregates", "", "The examples read a table with the rows (3, 'b'), (1, 'a'), (3, 'c').", "", *head]
    lines += [row(each) for each in AGGREGATES if not each.name.startswith("$")]
    return "\n".join(lines).rstrip() + "\n" + DIFFERENCES


def row(function: Function | AggregateFunction) -> str:
    mark = " *" if function.kernel_for is not None else ""
    names = ", ".join(code(name.upper()) for name in function.names if not name.startswith("$")) + mark
    forms = "; ".join(f"({form.text})" for form in function.alternatives)
    return f"| {names} | {forms} | {function.purpose} | {example_of(function.names[0])} |"


def example_of(name: str) -> str:
    example = _examples().get(name)
    if example is None:
        return ""
    expression, _, result = example.partition("  -->  ")
    return code(expression) + (f" is {code(result)}" if result else "")


@functools.cache
def _examples() -> dict[str, str]:
    lines = EXAMPLES.read_text(encoding="utf-8").splitlines()
    return dict(line.split(" : ", 1) for line in lines if line and not line.startswith("#"))


def code(name: str) -> str:
    return f"`{name}`".replace("|", "\\|")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
