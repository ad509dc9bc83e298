"""When CURRENT_TIMESTAMP and its like are asked for: for every row of a stream, once for a query in batch mode."""

from __future__ import annotations

import datetime
from typing import Any

import cloudpickle  # type: ignore[import-untyped]
import pytest

from funke.engine.operators.time.clock import ManualClock
from funke.engine.sql.binding.relations import Relation
from funke.engine.sql.statements.plans import job_plans
from funke.engine.sql.statements.plans.job_plans import planned_inserts, planned_rows
from funke.table import EnvironmentSettings, TableEnvironment
from funke.table.expressions import (
    current_date,
    current_time,
    current_timestamp,
    local_time,
    local_timestamp,
    unix_timestamp,
)
from tests.harness.sql_plans import RunningPlan

UTC = datetime.UTC
NOON = datetime.datetime(2024, 5, 1, 12, tzinfo=UTC)
NOON_MS = int(NOON.timestamp() * 1000)
LOCAL_NOON = NOON.replace(tzinfo=None)
SECOND, DAY = datetime.timedelta(seconds=1), datetime.timedelta(days=1)
TABLE = "id BIGINT, ts AS LOCALTIMESTAMP, u AS UUID(), pt AS PROCTIME()"
# Expression -> what it gives at noon, and a day and a second later. The reference decides which of them a batch query
# sees anew in every row.
OF_QUERY: dict[str, tuple[Any, Any]] = {
    "LOCALTIMESTAMP": (LOCAL_NOON, LOCAL_NOON + DAY + SECOND),
    "CURRENT_TIMESTAMP": (NOON, NOON + DAY + SECOND),
    "NOW()": (NOON, NOON + DAY + SECOND),
    "CURRENT_DATE": (NOON.date(), NOON.date() + DAY),
    "CURRENT_TIME": (datetime.time(12), datetime.time(12, 0, 1)),
    "LOCALTIME": (datetime.time(12), datetime.time(12, 0, 1)),
    "DATE_FORMAT(LOCALTIMESTAMP, 'dd HH:mm:ss')": ("01 12:00:00", "02 12:00:01"),
    "TIMESTAMPDIFF(SECOND, TIMESTAMP '2024-05-01 12:00:00', LOCALTIMESTAMP)": (0, 86_401),
    "CASE WHEN CURRENT_DATE > DATE '2024-05-01' THEN 'later' ELSE 'noon' END": ("noon", "later"),
    "ts": (LOCAL_NOON, LOCAL_NOON + DAY + SECOND),
}
OF_ROW: dict[str, tuple[Any, Any]] = {
    "CURRENT_ROW_TIMESTAMP()": (NOON, NOON + DAY + SECOND),
    "PROCTIME()": (NOON, NOON + DAY + SECOND),
    "pt": (NOON, NOON + DAY + SECOND),
    "UNIX_TIMESTAMP()": (NOON_MS // 1000, NOON_MS // 1000 + 86_401),
    "FROM_UNIXTIME(UNIX_TIMESTAMP())": ("2024-05-01 12:00:00", "2024-05-02 12:00:01"),
}


def environment(mode: str) -> TableEnvironment:
    tables = TableEnvironment.create(getattr(EnvironmentSettings, f"in_{mode}_mode")())
    tables.get_config().set_local_timezone("UTC")
    tables.get_config().set("funke.table.batch-plan", "slots")
    tables.execute_sql(f"CREATE TABLE t ({TABLE}) WITH ('connector' = 'datagen', 'number-of-rows' = '2')")
    return tables


def planned(t_env: TableEnvironment, query: str) -> Relation:
    # As it reaches the slots.
    relation: Relation = cloudpickle.loads(
        cloudpickle.dumps(planned_rows(t_env._session, t_env.sql_query(query)._relation))
    )
    return relation


def test_a_stream_asks_for_every_row() -> None:
    clock, expected = ManualClock(NOON_MS), OF_QUERY | OF_ROW
    plan = RunningPlan(planned(environment("streaming"), f"SELECT {', '.join(expected)} FROM t"), clock)
    first = plan.feed({"id": 1})
    clock.set(NOON_MS + 86_401_000)
    second = plan.feed({"id": 2})
    assert dict(zip(expected, zip(first[0][1], second[0][1]))) == expected


def test_a_batch_query_asks_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_plans, "SystemClock", lambda: ManualClock(NOON_MS))
    clock, expected = ManualClock(NOON_MS), OF_QUERY | OF_ROW
    plan = RunningPlan(planned(environment("batch"), f"SELECT {', '.join(expected)} FROM t"), clock)
    plan.feed({"id": 1})
    clock.set(NOON_MS + 86_401_000)
    ((_, row),) = plan.feed({"id": 2})
    assert dict(zip(expected, row)) == {each: values[each in OF_ROW] for each, values in expected.items()}


def test_two_executions_of_a_batch_query_are_two_queries(monkeypatch: pytest.MonkeyPatch) -> None:
    t_env = environment("batch")
    table = t_env.sql_query("SELECT LOCALTIMESTAMP, ts FROM t")
    for now in (0, 5):
        monkeypatch.setattr(job_plans, "SystemClock", lambda now=now: ManualClock(NOON_MS + 1000 * now))
        plan = RunningPlan(planned_rows(t_env._session, table._relation))
        assert plan.feed({"id": 1})[0][1] == (LOCAL_NOON + now * SECOND,) * 2


def test_the_inserts_of_a_batch_see_one_time(monkeypatch: pytest.MonkeyPatch) -> None:
    t_env = environment("batch")
    timestamps = iter(range(NOON_MS, NOON_MS + 100))
    monkeypatch.setattr(job_plans, "SystemClock", lambda: ManualClock(next(timestamps)))
    for name in ("a", "b"):
        t_env.execute_sql(f"CREATE TABLE {name} (x TIMESTAMP(3)) WITH ('connector' = 'blackhole')")
    plans = [t_env._insert_plan(f"INSERT INTO {name} SELECT LOCALTIMESTAMP FROM t") for name in ("a", "b")]
    rows = [RunningPlan(each.relation).feed({"id": 1})[0][1] for each in planned_inserts(t_env._session, plans)]
    assert rows == [(LOCAL_NOON,)] * 2


def test_all_calls_within_a_row_see_the_same_time() -> None:
    class Running:
        """A clock that is never the same."""

        def __init__(self) -> None:
            self._now_ms = NOON_MS

        def now_ms(self) -> int:
            self._now_ms += 1
            return self._now_ms

    clock: Any = Running()
    query = "SELECT NOW(), CURRENT_TIMESTAMP, CURRENT_ROW_TIMESTAMP() FROM t WHERE NOW() = CURRENT_TIMESTAMP"
    plan = RunningPlan(planned(environment("streaming"), query), clock)
    for _ in range(3):
        ((_, row),) = plan.feed({"id": 1})
        assert len(set(row)) == 1


def test_conditions_see_the_current_time() -> None:
    clock = ManualClock(NOON_MS)
    query = "SELECT id FROM t WHERE LOCALTIMESTAMP > TIMESTAMP '2024-05-01 12:00:00' AND YEAR(ts) = 2024"
    plan = RunningPlan(planned(environment("streaming"), query), clock)
    assert plan.feed({"id": 1}) == []
    clock.set(NOON_MS + 1)
    assert [row for _, row in plan.feed({"id": 2})] == [(2,)]


def test_windows_by_the_local_time_of_rows_close_without_an_end() -> None:
    t_env = environment("streaming")
    t_env.execute_sql(
        "CREATE TABLE e (id BIGINT, ts AS LOCALTIMESTAMP, WATERMARK FOR ts AS ts) WITH ('connector' = 'datagen')"
    )
    query = """SELECT window_start, COUNT(*), MIN(ts), MAX(ts) FROM
        TABLE(TUMBLE(TABLE e, DESCRIPTOR(ts), INTERVAL '10' SECOND)) GROUP BY window_start, window_end"""
    clock = ManualClock(NOON_MS)
    plan = RunningPlan(planned(t_env, query), clock)
    changes = []
    for second in range(31):
        clock.set(NOON_MS + second * 1000)
        changes += plan.feed({"id": second})
    assert [row for _, row in changes] == [
        (LOCAL_NOON + start * SECOND, 10, LOCAL_NOON + start * SECOND, LOCAL_NOON + (start + 9) * SECOND)
        for start in (0, 10, 20)
    ]


def test_watermarks_by_the_clock() -> None:
    t_env = environment("streaming")
    t_env.execute_sql(
        """CREATE TABLE e (ts TIMESTAMP(3), WATERMARK FOR ts AS LOCALTIMESTAMP - INTERVAL '1' SECOND)
        WITH ('connector' = 'datagen')"""
    )
    query = """SELECT window_start, COUNT(*) FROM
        TABLE(TUMBLE(TABLE e, DESCRIPTOR(ts), INTERVAL '10' SECOND)) GROUP BY window_start, window_end"""
    clock = ManualClock(NOON_MS)
    plan = RunningPlan(planned(t_env, query), clock)
    assert plan.feed({"ts": LOCAL_NOON}) == []
    clock.set(NOON_MS + 12_000)
    changes = plan.feed({"ts": LOCAL_NOON + 11 * SECOND})
    assert [row for _, row in changes] == [(LOCAL_NOON, 1)]


def test_rows_of_values_see_the_time_of_their_job() -> None:
    clock = ManualClock(NOON_MS)
    for query in ("SELECT NOW()", "VALUES (NOW())"):
        plan = RunningPlan(planned(environment("streaming"), query), clock)
        assert [row for _, row in plan.feed({})] == [(NOON,)]


def test_expressions_of_tables_see_the_current_time() -> None:
    t_env = environment("streaming")
    items = [local_timestamp(), current_timestamp(), current_date(), current_time(), local_time(), unix_timestamp()]
    relation = t_env.from_path("t").select(*items)._relation
    clock = ManualClock(NOON_MS)
    plan = RunningPlan(planned_rows(t_env._session, relation), clock)
    plan.feed({"id": 1})
    clock.set(NOON_MS + 86_401_000)
    later = NOON + DAY + SECOND
    (_, row), *_ = plan.feed({"id": 2})
    local = later.replace(tzinfo=None)
    assert row == (local, later, local.date(), local.time(), local.time(), int(later.timestamp()))


CHANCES = ("RAND()", "RAND_INTEGER(1000000000)", "UUID()", "RAND(5)", "RAND_INTEGER(5, 1000000000)", "u")


@pytest.mark.parametrize("mode", ["streaming", "batch"])
def test_chance_is_another_in_every_row_and_call(mode: str) -> None:
    plan = RunningPlan(planned(environment(mode), f"SELECT {', '.join(CHANCES)} FROM t"))
    columns = list(zip(*(row for _, row in plan.feed(*({"id": each} for each in range(50))))))
    assert [len(set(each)) for each in columns] == [50] * len(CHANCES)
    twice = ["RAND() + 1", "UUID() || 'a'", "CAST(RAND_INTEGER(1000000000) AS STRING)"]
    plan = RunningPlan(planned(environment(mode), f"SELECT {', '.join([*twice, *twice])}, u, u FROM t"))
    for _, row in plan.feed(*({"id": each} for each in range(20))):
        assert len(set(row)) == 7
        assert row[6] == row[7]


def test_seeds_give_the_numbers_of_the_reference() -> None:
    plan = RunningPlan(planned(environment("streaming"), "SELECT RAND(5), RAND_INTEGER(5, 100), RAND(id) FROM t"))
    rows = [row for _, row in plan.feed({"id": 5}, {"id": 5})]
    assert [row[0] for row in rows] == [0.730519863614471, 0.08825840967622589]
    assert [row[1] for row in rows] == [87, 92]
    assert [row[2] for row in rows] == [0.730519863614471] * 2
