"""Hints for joins of batches: whom they are for, what is rejected, and what streams show of them, as in Flink 2.3."""

from __future__ import annotations

import pytest

from funke.engine.flink_exceptions import ValidationException
from funke.table import EnvironmentSettings, TableEnvironment

UNKNOWN = "The options of following hints cannot match the name of input tables or views: \n"


@pytest.fixture(params=["in_streaming_mode", "in_batch_mode"])
def t_env(request: pytest.FixtureRequest) -> TableEnvironment:
    return tables(getattr(EnvironmentSettings, request.param)())


def tables(settings: EnvironmentSettings) -> TableEnvironment:
    t_env = TableEnvironment.create(settings)
    for name in "abc":
        options = "'connector' = 'datagen', 'number-of-rows' = '3'"
        t_env.execute_sql(f"CREATE TABLE {name} (k INT, v INT) WITH ({options})")
    return t_env


@pytest.mark.parametrize(
    ("hint", "message"),
    [
        ("BROADCAST(x)", f"{UNKNOWN}`x` in `BROADCAST`"),
        ("BROADCAST(y, x), NEST_LOOP(z)", f"{UNKNOWN}`x, y` in `BROADCAST`\n`z` in `NEST_LOOP`"),
        (
            "SHUFFLE_HASH",
            "Invalid hint: SHUFFLE_HASH, expecting at least one table or view specified in hint SHUFFLE_HASH.",
        ),
        (
            "BROADCAST('k' = 'v')",
            "Invalid hint: BROADCAST(k=v), expecting at least one table or view specified in hint BROADCAST.",
        ),
    ],
)
def test_wrong_hints_are_rejected(t_env: TableEnvironment, hint: str, message: str) -> None:
    with pytest.raises(ValidationException) as raised:
        t_env.explain_sql(f"SELECT /*+ {hint} */ a.v FROM a JOIN b ON a.k = b.k")
    assert message in str(raised.value)


def test_a_query_without_joins_does_not_look_at_tables(t_env: TableEnvironment) -> None:
    assert "joinHints" not in t_env.explain_sql("SELECT /*+ BROADCAST(x) */ v FROM a")


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("/*+ BROADCAST(a) */ a.v FROM a JOIN b ON a.k = b.k", ["[BROADCAST options:[LEFT]]"]),
        ("/*+ NEST_LOOP(a, b) */ a.v FROM a JOIN b ON a.k = b.k", ["[NEST_LOOP options:[LEFT]]"]),
        (
            "/*+ BROADCAST(a), SHUFFLE_MERGE(b) */ a.v FROM a JOIN b USING (k)",
            ["[BROADCAST options:[LEFT]][SHUFFLE_MERGE options:[RIGHT]]"],
        ),
        ("/*+ BROADCAST(c) */ a.v FROM a JOIN b ON a.k = b.k JOIN c ON b.k = c.k", ["[BROADCAST options:[RIGHT]]"]),
        ("/*+ BROADCAST(d) */ d.v FROM a JOIN (SELECT * FROM b) AS d ON a.k = d.k", ["[BROADCAST options:[RIGHT]]"]),
    ],
)
def test_streams_show_hints(query: str, text: list[str]) -> None:
    plan = tables(EnvironmentSettings.in_streaming_mode()).explain_sql(f"SELECT {query}")
    physical = plan.partition("== Optimized Physical Plan ==")[2].partition("== Optimized Execution Plan ==")[0]
    lines = [line.partition(", joinHints=[[")[2] for line in physical.splitlines() if "joinHints" in line]
    assert lines == [f"{each}]])" for each in text]
