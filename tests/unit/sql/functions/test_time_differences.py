"""Differences of two times as intervals; what is expected was recorded with PyFlink 2.3."""

from __future__ import annotations

from typing import Any

import pytest

from funke.engine.errors import SqlParserError, SqlValidationError
from funke.engine.sql.statements.plans.job_plans import planned_rows
from funke.table import EnvironmentSettings, TableEnvironment
from tests.harness.local_jobs import changes_in

TIMES = """(VALUES (TIMESTAMP '2020-01-01 00:00:00.250', TIMESTAMP '2020-01-03 05:07:09.500',
    TIMESTAMP '2021-03-31 05:07:09.500', TIME '10:30:00', TIME '12:15:10', DATE '2020-01-31', DATE '2021-03-30',
    CAST(NULL AS TIMESTAMP(3)))) AS t (a, b, c, t1, t2, d1, d2, n)"""


@pytest.fixture(scope="module")
def t_env() -> TableEnvironment:
    return TableEnvironment.create(EnvironmentSettings.in_streaming_mode())


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        *(
            (f"CAST((b - a) {units} AS STRING)", "+2 05:07:09.250")
            for units in ("DAY TO SECOND", "DAY", "HOUR", "MINUTE TO SECOND", "SECOND(3)")
        ),
        ("CAST((a - b) HOUR AS STRING)", "-2 05:07:09.250"),
        ("CAST((c - a) MONTH AS STRING)", "+1-02"),
        ("CAST((a - c) YEAR TO MONTH AS STRING)", "-1-02"),
        ("CAST((t2 - t1) HOUR AS STRING)", "+0 01:45:10.000"),
        ("CAST((d2 - d1) DAY AS STRING)", "+424 00:00:00.000"),
        ("CAST((d2 - d1) YEAR AS STRING)", "+1-01"),
        ("d1 + (d2 - d1) DAY = d2", True),
        ("a + (b - a) DAY TO SECOND = b", True),
        ("(b - a) DAY > INTERVAL '1' DAY", True),
        ("CAST((b - n) DAY AS STRING)", None),
        ("TYPEOF((b - a) DAY TO SECOND)", "INTERVAL SECOND(3) NOT NULL"),
        ("TYPEOF((n - a) YEAR)", "INTERVAL MONTH"),
    ],
)
def test_time_between(t_env: TableEnvironment, expression: str, value: Any) -> None:
    query = t_env.sql_query(f"SELECT {expression} FROM {TIMES}")
    assert [row for _, row in changes_in(planned_rows(t_env._session, query._relation))] == [(value,)]


@pytest.mark.parametrize(
    "expression", ["(b - d1) DAY", "(1 - 2) DAY", "b - a", "(INTERVAL '1' DAY - INTERVAL '2' DAY) DAY"]
)
def test_what_has_no_difference(t_env: TableEnvironment, expression: str) -> None:
    with pytest.raises(SqlValidationError):
        t_env.sql_query(f"SELECT {expression} FROM {TIMES}")


def test_only_differences_have_units(t_env: TableEnvironment) -> None:
    with pytest.raises(SqlParserError, match="DATETIME - DATETIME"):
        t_env.sql_query(f"SELECT (a) DAY FROM {TIMES}")
