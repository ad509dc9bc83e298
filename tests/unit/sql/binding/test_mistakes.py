"""What is said to statements that mean nothing, and where the mistake is; recorded with PyFlink 2.3."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from funke.engine.errors import FunkeError
from funke.table import EnvironmentSettings, TableEnvironment

HERE = Path(__file__).parent
RECORDED = json.loads((HERE / "reference_mistakes.json").read_text())
JOINS = json.loads((HERE / "reference_join_mistakes.json").read_text())
KNOWN = set((HERE / "other_words.sql").read_text().splitlines()[1:])
SAID = {statement: said for statement, said in RECORDED["said"].items() if statement not in KNOWN}
SAID_OF_JOINS = {statement: said for statement, said in JOINS["said"].items() if statement not in KNOWN}


@pytest.fixture(scope="module")
def t_env() -> TableEnvironment:
    return environment_of(RECORDED["tables"])


@pytest.fixture(scope="module")
def t_env_of_joins() -> TableEnvironment:
    return environment_of(JOINS["tables"])


def environment_of(tables: list[str]) -> TableEnvironment:
    environment = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    for each in tables:
        environment.execute_sql(each)
    return environment


def run(t_env: TableEnvironment, statement: str) -> None:
    is_explained = statement.startswith(("SELECT", "VALUES", "FROM", "INSERT"))
    (t_env.explain_sql if is_explained else t_env.execute_sql)(statement)


@pytest.mark.parametrize("statement", SAID)
def test_the_words_are_those_of_flink(t_env: TableEnvironment, statement: str) -> None:
    check(t_env, statement, SAID[statement])


@pytest.mark.parametrize("statement", SAID_OF_JOINS)
def test_the_words_about_joins_are_those_of_flink(t_env_of_joins: TableEnvironment, statement: str) -> None:
    check(t_env_of_joins, statement, SAID_OF_JOINS[statement])


def check(t_env: TableEnvironment, statement: str, said: str | None) -> None:
    if said is None:
        run(t_env, statement)
        return
    with pytest.raises(FunkeError) as raised:
        run(t_env, statement)
    assert str(raised.value).splitlines()[0] == said


def test_most_of_them_are() -> None:
    assert len(SAID) + len(SAID_OF_JOINS) > 3 * len(KNOWN)
