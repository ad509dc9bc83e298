"""Rows that are invented by expressions: what expressions give, every type, and what is rejected."""

from __future__ import annotations

import datetime
import random
import re
from typing import Any

import pytest

from funke.engine.flink_exceptions import ValidationException
from funke.engine.sql.connectors.faker.expressions import expression_maker
from funke.engine.sql.connectors.faker.invented_values import INVENTED
from tests.harness.sql_tables import source_of


def rows(columns: str, options: str, count: int = 30) -> list[Any]:
    """Some rows, made at once."""
    table = source_of(
        f"CREATE TABLE t ({columns}) WITH ('connector' = 'faker', 'rows-per-second' = '1000000', "
        f"'number-of-rows' = '{count}', {options})"
    )
    assert table.is_bounded
    source = table.create_source()
    enumerator, reader = source.create_enumerator(1), source.create_reader()
    results: list[Any] = []
    while not enumerator.is_finished:
        for split in enumerator.poll(1000):
            for batch in reader.read_columns(split):
                results += [tuple(row.values()) for row in batch.data.to_pylist()]
    return results


def invented(expression: str, count: int = 200) -> set[Any]:
    make, chance = expression_maker(expression), random.Random(1)
    return {make(chance) for _ in range(count)}


@pytest.mark.parametrize(
    ("expression", "pattern"),
    [
        ("#{Name.first_name}", r"[A-Z][a-z]+"),
        ("#{name.fullName} (#{Address.city})", r"\w+ \w+ \(\w+\)"),
        ("#{number.numberBetween '-5','5'}", r"-?\d"),
        ("#{Number.randomDouble '2','1','9'}", r"\d\.\d\d"),
        ("#{regexify '(a|bc){1,2}[x-z]?\\d{3}'}", r"(a|bc){1,2}[x-z]?\d{3}"),
        ("#{regexify '[A-F0-9_]{4}-\\w+ ?.'}", r"[A-F0-9_]{4}-\w+ ?."),
        ("#{Options.option 'red','dark blue','green'}", "red|dark blue|green"),
        ("#{numerify '##-##'}", r"\d\d-\d\d"),
        ("#{bothify '??#'}", r"[a-z]{2}\d"),
        ("#{Internet.emailAddress}", r"[\w.]+@mail\.example"),
        ("#{Lorem.sentence}", r"[A-Z][a-z ]+\."),
        ("no expression at all", "no expression at all"),
    ],
)
def test_what_expressions_give(expression: str, pattern: str) -> None:
    values = invented(expression)
    assert all(re.fullmatch(pattern, value) for value in values)
    assert len(values) > 1 or "#{" not in expression


def test_every_option_and_number_occurs_but_the_upper_bound() -> None:
    assert invented("#{options.option 'a','b','c'}") == {"a", "b", "c"}
    assert invented("#{number.numberBetween '1','4'}") == {"1", "2", "3"}


def test_times_lie_in_the_past_or_in_the_future() -> None:
    now = datetime.datetime.now()
    second = datetime.timedelta(seconds=1)
    assert all(now - 16 * second < value < now - 4 * second for value in invented("#{date.past '15','5','SECONDS'}"))
    assert all(now < value < now + 61 * second for value in invented("#{date.future '1','MINUTES'}"))
    ages = {(now - value).days // 365 for value in invented("#{date.birthday '20','30'}")}
    assert ages <= set(range(20, 31))


@pytest.mark.parametrize("name", [name for name in INVENTED if name not in ("date.between", "options.option")])
def test_every_call_works_by_its_name(name: str) -> None:
    arguments = {"letterify": " '??'", "numerify": " '#'", "bothify": " '?#'", "date.past": " '5','DAYS'"}
    arguments |= {
        "date.future": " '5','DAYS'",
        "number.numberbetween": " '1','2'",
        "number.randomdouble": " '1','1','2'",
    }
    assert all(invented(f"#{{{name}{arguments.get(name, '')}}}", count=3))


def test_every_kind_of_column() -> None:
    columns = (
        "s STRING, c BOOLEAN, i INT, f DOUBLE, d DECIMAL(6, 2), ts TIMESTAMP(3), tz TIMESTAMP_LTZ(3), born DATE, "
        "hour_of TIME, a ARRAY<INT>, m MAP<STRING, INT>, r ROW<x STRING, y INT>, k MULTISET<STRING>, b BYTES"
    )
    expressions = {
        "s": "#{color.name}",
        "c": "#{bool.bool}",
        "i": "#{number.digit}",
        "f": "#{Number.randomDouble ''3'',''0'',''1''}",
        "d": "#{commerce.price}",
        "ts": "#{date.past ''1'',''DAYS''}",
        "tz": "#{date.past ''1'',''DAYS''}",
        "born": "#{date.birthday}",
        "hour_of": "#{date.past ''1'',''HOURS''}",
        "a": "#{number.digit}",
        "m.key": "#{lorem.word}",
        "m.value": "#{number.digit}",
        "r.x": "#{address.country}",
        "r.y": "#{number.digit}",
        "k": "#{lorem.word}",
        "b": "#{animal.name}",
    }
    options = ", ".join(f"'fields.{name}.expression' = '{text}'" for name, text in expressions.items())
    result_rows = rows(columns, f"{options}, 'fields.a.length' = '4', 'fields.m.length' = '2'", count=5)
    assert len(result_rows) == 5
    for row in result_rows:
        kinds = [type(value).__name__ for value in row[:9]]
        assert kinds == ["str", "bool", "int", "float", "Decimal", "datetime", "datetime", "date", "time"]
        assert len(row[9]) == 4 and 1 <= len(row[10]) <= 2 and set(row[11]) == {"x", "y"}
        assert row[12][0][1] == 1 and isinstance(row[13], bytes)


def test_some_values_are_null() -> None:
    result_rows = rows("s STRING", "'fields.s.expression' = '#{color.name}', 'fields.s.null-rate' = '0.5'", count=200)
    assert 50 < sum(value is None for (value,) in result_rows) < 150


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        ("s STRING", "'fields.s.length' = '3'", "No expression found for s field"),
        ("s STRING", "'fields.s.expression' = '#{Name.frist_name}'", "Unknown call 'Name.frist_name'.*Known are"),
        ("s STRING", "'fields.s.expression' = '#{number.numberBetween ''1''}'", "Wrong arguments of"),
        ("s STRING", "'fields.s.expression' = '#{date.past ''1'',''AEONS''}'", "Wrong arguments of"),
        ("s STRING", "'fields.s.expression' = '#{color.name'", "Unable to parse the expression"),
        ("s STRING", "'fields.s.expression' = '#{regexify ''(a''}'", "a bracket is not closed"),
        ("i INT", "'fields.i.expression' = '#{color.name}'", "gives no such value"),
        ("s STRING", "'fields.s.expression' = 'x', 'fields.t.expression' = 'y'", "Unsupported options"),
    ],
)
def test_what_is_rejected(columns: str, options: str, message: str) -> None:
    with pytest.raises(ValidationException) as raised:
        rows(columns, options)
    assert re.search(message, f"{raised.value} {raised.value.__cause__}", re.DOTALL)
