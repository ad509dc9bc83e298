"""OVER by values in streams, and OVER of groups; recorded with PyFlink 2.3 and parallelism 1."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from funke.engine.errors import FunkeError
from funke.engine.sql.statements.job_plans import planned_rows
from funke.table import EnvironmentSettings, TableEnvironment
from tests.harness.local_jobs import changes_in

RECORDED = json.loads((Path(__file__).parent / "reference_sorted_over.json").read_text())
ANSWERED = [each for each in RECORDED["cases"] if "changes" in each]
REFUSED = [each for each in RECORDED["cases"] if "refused" in each]


@pytest.fixture(scope="module")
def t_env(tmp_path_factory: pytest.TempPathFactory) -> TableEnvironment:
    folder = tmp_path_factory.mktemp("sorted")
    (folder / "t.json").write_text("\n".join(map(json.dumps, RECORDED["rows"])))
    (folder / "c.json").write_text("\n".join(map(json.dumps, RECORDED["changes"])))
    made = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    made.execute_sql(f"""
        CREATE TABLE t (
            k STRING, ts TIMESTAMP(3), v INT, pt AS PROCTIME(), WATERMARK FOR ts AS ts - INTERVAL '5' SECOND
        ) WITH ('connector' = 'filesystem', 'format' = 'json', 'path' = '{folder}/t.json')
    """)
    made.execute_sql(f"""
        CREATE TABLE c (id INT, k STRING, v INT, w INT)
        WITH ('connector' = 'filesystem', 'format' = 'debezium-json', 'path' = '{folder}/c.json')
    """)
    return made


def changes(t_env: TableEnvironment, query: str) -> list[Any]:
    relation = planned_rows(t_env._session, t_env.sql_query(query)._relation)
    return [[sign, [str(each) for each in row]] for sign, row in changes_in(relation, is_batch=False)]


@pytest.mark.parametrize("case", ANSWERED, ids=lambda case: case["query"])
def test_changes_are_those_of_flink(t_env: TableEnvironment, case: dict[str, Any]) -> None:
    assert changes(t_env, case["query"]) == case["changes"]


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case["query"])
def test_what_flink_refuses(t_env: TableEnvironment, case: dict[str, Any]) -> None:
    with pytest.raises(FunkeError, match=re.escape(case["refused"][:60])):
        t_env.explain_sql(case["query"])
