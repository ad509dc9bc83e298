"""What the shell and the gateway complete, by the place of the cursor (|)."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from funke.ops.sql.completion import completions, suggestions
from funke.table import EnvironmentSettings, TableEnvironment


@pytest.fixture(scope="module")
def t_env() -> TableEnvironment:
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.execute_sql("CREATE TABLE sales (item STRING, amount INT, `a b` INT) WITH ('connector' = 'datagen')")
    t_env.execute_sql("CREATE TABLE stock (item STRING, `left` INT) WITH ('connector' = 'datagen')")
    t_env.execute_sql("CREATE VIEW cheap AS SELECT item FROM sales WHERE amount < 10")
    return t_env


def at(t_env: TableEnvironment, text: str) -> list[str]:
    return completions(t_env, text.replace("|", ""), text.index("|"))


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("SELECT it| FROM sales", ["item"]),
        ("SELECT am| FROM sales AS s JOIN stock ON TRUE", ["amount"]),
        ("SELECT s.| FROM sales AS s, stock AS t", ["item", "amount", "`a b`"]),
        ("SELECT t.| FROM sales AS s, stock AS t", ["item", "`left`"]),
        ("SELECT 1; SELECT s.a| FROM sales s; SELECT 2", ["amount", "`a b`"]),
        ("SELECT * FROM |", ["cheap", "sales", "stock", "default_database", "default_catalog"]),
        ("SELECT * FROM sales, st|", ["stock"]),
        ("INSERT INTO s|", ["sales", "stock"]),
        ("SELECT * FROM sales JOIN st|", ["stock"]),
        ("DESCRIBE ch|", ["cheap"]),
        ("SELECT * FROM default_catalog.|", ["default_database"]),
        ("SELECT * FROM default_database.st|", ["stock"]),
        ("SELECT * FROM default_catalog.default_database.st|", ["stock"]),
        ("SELECT * FROM sales WHERE am|", ["amount"]),
        ("SELECT uppe|", ["UPPER("]),
        ("SELEC|", ["SELECT"]),
        ("CREATE TABLE t (a INT) WITH (|", ["'connector'"]),
        ("CREATE TABLE t (a INT) WITH ('conn|", ["connector"]),
        ("CREATE TABLE t (a INT) WITH ('connector' = 'upsert|", ["upsert-kafka"]),
        ("CREATE TABLE t (a INT) WITH ('connector' = 'datagen', 'rows-|", ["rows-per-second"]),
        ("CREATE TABLE t (a INT) WITH ('connector' = 'kafka', 'scan.startup.mo|", ["scan.startup.mode"]),
        ("CREATE TABLE t (a INT) WITH ('connector' = 'kafka', 'scan.startup.mode' = 'earl|", ["earliest-offset"]),
        (
            "CREATE TABLE t (a INT) WITH ('connector' = 'kafka', 'format' = 'json', 'json.ig|",
            ["json.ignore-parse-errors"],
        ),
        ("SET 'pipeline.na|", ["pipeline.name"]),
        ("RESET 'pipeline.na|", ["pipeline.name"]),
        # Nothing between quotes, in comments, after what is no table.
        ("SELECT 'it| FROM sales", []),
        ("SELECT `it| FROM sales", []),
        ("SELECT 1 -- it|", []),
        ("SELECT 1 /* it|", []),
        ("SELECT 'a -- b', it| FROM sales", ["item"]),
        ("SET 'pipeline.name' = 'it|", []),
        ("SELECT nope.| FROM sales", []),
    ],
)
def test_by_the_position_of_the_cursor(t_env: TableEnvironment, text: str, first: list[str]) -> None:
    names = at(t_env, text)
    assert names[: len(first)] == first and bool(names) == bool(first)


def test_what_they_are(t_env: TableEnvironment) -> None:
    meanings = {each.text: each.meaning for each in suggestions(t_env, "SELECT s FROM sales", 8)[1]}
    assert meanings["SUBSTRING("].startswith("SUBSTRING(") and meanings["SELECT"] == ""
    assert suggestions(t_env, "SELECT a FROM sales", 8)[1][0].meaning == "INT of sales"


PIECES = st.sampled_from(
    ["SELECT", " ", "'", "`", "sales", ".", "FROM", "(", ")", "WITH", ",", "=", "--", "/*", "\n", ";", "x"]
)


@settings(max_examples=150, deadline=None)
@given(st.lists(PIECES, max_size=12), st.integers(0, 60))
def test_any_text_has_an_answer(t_env: TableEnvironment, pieces: list[str], position: int) -> None:
    text = "".join(pieces)
    word, names = suggestions(t_env, text, min(position, len(text)))
    before = text[: min(position, len(text))]
    assert before.endswith(word)
    assert all(each.text.strip("'`").lower().startswith(word.lower()) for each in names)
