"""Plans say how large the state of joins may become, and jobs warn of what grows without an end."""

from __future__ import annotations

import pytest

from funke.engine.sql.plan.node import as_node
from funke.engine.sql.plan.state_growth import warnings_of
from funke.engine.sql.statements.plans.job_plans import planned_rows
from funke.table import EnvironmentSettings, ExplainDetail, TableEnvironment

TABLES = (
    "CREATE TABLE orders (id INT, customer INT) WITH ('connector' = 'datagen')",
    "CREATE TABLE payments (id INT, amount INT) WITH ('connector' = 'datagen')",
    "CREATE TABLE few (id INT, y INT) WITH ('connector' = 'datagen', 'number-of-rows' = '5')",
    "CREATE TABLE customers (id INT, name STRING, PRIMARY KEY (id) NOT ENFORCED) WITH ('connector' = 'datagen')",
)
WHY = "there is no key and no TTL; 'table.exec.state.ttl' or the hint STATE_TTL limits it"


@pytest.fixture(scope="module")
def t_env() -> TableEnvironment:
    environment = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    for each in TABLES:
        environment.execute_sql(each)
    return environment


@pytest.mark.parametrize(
    ("query", "lines"),
    [
        (
            "SELECT * FROM orders AS o JOIN payments AS p ON o.id = p.id",
            ["grows with every row of orders; no key, no TTL", "grows with every row of payments; no key, no TTL"],
        ),
        (
            "SELECT /*+ STATE_TTL('p' = '1 s') */ * FROM customers AS c JOIN payments AS p ON c.id = p.id",
            ["keeps one row of customers for each id", "keeps a row of payments for 1000 ms after it was last written"],
        ),
        (
            "SELECT * FROM (SELECT SUM(id) AS s FROM orders GROUP BY customer) AS o JOIN few ON o.s = few.id",
            [
                "keeps a row of orders until it is taken back; no key, no TTL",
                "grows with every row of few; no key, no TTL",
            ],
        ),
    ],
)
def test_advice_says_what_joins_keep(t_env: TableEnvironment, query: str, lines: list[str]) -> None:
    text = t_env.explain_sql(query, ExplainDetail.PLAN_ADVICE)
    advice = [line.partition("]) ")[2] for line in text.splitlines() if "the state of Join(" in line]
    assert advice == lines
    assert "the state of Join(" not in t_env.explain_sql(query)


def warnings(t_env: TableEnvironment, query: str) -> list[str]:
    return warnings_of(as_node(planned_rows(t_env._session, t_env.sql_query(query)._relation)))


def test_a_join_without_an_end_is_named_once(t_env: TableEnvironment) -> None:
    assert warnings(t_env, "SELECT * FROM orders AS o JOIN payments AS p ON o.id = p.id") == [
        f"the state of Join(where=[=(id, id0)]) grows with every row of orders, payments: {WHY}"
    ]


def test_what_has_an_end_or_a_key_or_a_time_is_not_warned_of(t_env: TableEnvironment) -> None:
    assert warnings(t_env, "SELECT * FROM few JOIN customers AS c ON few.id = c.id") == []
    hint = "/*+ STATE_TTL('o' = '1 h', 'p' = '1 h') */"
    assert warnings(t_env, f"SELECT {hint} * FROM orders AS o JOIN payments AS p ON o.id = p.id") == []
