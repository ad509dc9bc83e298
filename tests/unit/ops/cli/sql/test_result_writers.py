"""How the shell writes rows: each form, and tables that fit the screen whatever is in them."""

from __future__ import annotations

import csv
import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from funke.common import Row, RowKind
from funke.engine.sql.results.display_width import display_width
from funke.ops.cli.sql.result_writers import FittedTable, ResultWriter, writer_of
from funke.ops.cli.sql.shown_result import ShownColumn

COLUMNS = (ShownColumn("item"), ShownColumn("n", is_number=True), ShownColumn("sold", is_boolean=True))
ROWS = [Row("a|b", "5", "TRUE"), Row("two\nlines", None, "FALSE"), Row(None, "NaN", None)]


def written(writer: ResultWriter, rows: list[Row]) -> list[str]:
    lines = [*writer.begin(rows), *(line for row in rows for line in writer.write(row)), *writer.end()]
    assert writer.count == len(rows)
    return lines


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        (
            "table",
            [
                "+------------+--------+--------+",
                "| item       |      n | sold   |",
                "+------------+--------+--------+",
                "| a|b        |      5 | TRUE   |",
                "| two\\nlines | <NULL> | FALSE  |",
                "| <NULL>     |    NaN | <NULL> |",
                "+------------+--------+--------+",
            ],
        ),
        ("csv", ["item,n,sold", "a|b,5,TRUE", '"two\nlines",,FALSE', ",NaN,"]),
        (
            "json",
            [
                '{"item": "a|b", "n": 5, "sold": true}',
                '{"item": "two\\nlines", "n": null, "sold": false}',
                '{"item": null, "n": "NaN", "sold": null}',
            ],
        ),
        (
            "markdown",
            [
                "| item | n | sold |",
                "| --- | ---: | --- |",
                "| a\\|b | 5 | TRUE |",
                "| two\\nlines | NULL | FALSE |",
                "| NULL | NaN | NULL |",
            ],
        ),
    ],
)
def test_each_form(name: str, lines: list[str]) -> None:
    assert written(writer_of(name, COLUMNS, False, None, None), ROWS) == lines


def test_one_value_in_a_line() -> None:
    lines = written(writer_of("vertical", COLUMNS, False, None, None), ROWS[:2])
    assert lines[:4] == ["-[ ROW 1 ]", "item | a|b", "n    | 5", "sold | TRUE"] and lines[4] == "-[ ROW 2 ]"


def test_changes_have_their_kind() -> None:
    row = Row("a", "1", "TRUE")
    row.set_row_kind(RowKind.UPDATE_AFTER)
    assert written(writer_of("csv", COLUMNS, True, None, None), [row]) == ["op,item,n,sold", "+U,a,1,TRUE"]


def test_the_widest_columns_become_narrower_and_then_the_last_ones_go() -> None:
    columns = [ShownColumn("short"), ShownColumn("long"), ShownColumn("longer")]
    row = Row("abc", "x" * 30, "y" * 60)
    lines = written(FittedTable(columns, False, 51), [row])
    assert lines[3] == f"| abc   | {'x' * 17}… | {'y' * 17}… |"
    lines = written(FittedTable(columns, False, 20), [row])
    assert lines[3:] == [
        "| abc   | xxxxx… |",
        "+-------+--------+",
        "Columns without room: longer (\\x shows one value in a line)",
    ]


STRINGS = st.none() | st.text(max_size=40) | st.text("漢字ab", max_size=40)


@given(st.lists(st.tuples(STRINGS, STRINGS, STRINGS), min_size=1, max_size=4), st.integers(12, 120))
def test_no_line_is_wider_than_the_screen(values: list[tuple[str | None, ...]], width: int) -> None:
    rows = [Row(*each) for each in values]
    table = FittedTable(COLUMNS, False, width)
    lines = [*table.begin(rows), *(line for row in rows for line in table.write(row))]
    assert all(display_width(line) <= width for line in lines)
    assert len({display_width(line) for line in lines}) == 1, "all columns stand below each other"


@given(st.lists(st.tuples(STRINGS, STRINGS, STRINGS), max_size=4))
def test_csv_and_json_are_read_as_they_were_written(values: list[tuple[str | None, ...]]) -> None:
    columns = [ShownColumn("a"), ShownColumn("b"), ShownColumn("c")]
    rows = [Row(*each) for each in values]
    lines = written(writer_of("json", columns, False, None, None), rows)
    assert [tuple(json.loads(line).values()) for line in lines] == values
    lines = written(writer_of("csv", columns, False, None, None), rows)
    read = list(csv.reader(io.StringIO("\n".join(lines), newline="")))
    assert read == [["a", "b", "c"], *([text or "" for text in each] for each in values)]
