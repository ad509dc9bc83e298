"""JOIN … FOR SYSTEM_TIME AS OF an event time: each row meets the version of its time when the watermark passes it."""

from __future__ import annotations

import datetime
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from funke.engine.errors import UnsupportedFeatureError
from funke.engine.flink_exceptions import ValidationException
from funke.engine.graph.operations import ColumnOperator
from funke.engine.sql.binding.expressions import TimeAttribute
from funke.engine.sql.binding.query_binder import QueryBinder
from funke.engine.sql.binding.relations import Column, Scan
from funke.engine.sql.parsing import parse
from funke.engine.sql.plan.calc import Calc
from funke.engine.sql.plan.changelogs.changelog_mode import for_consumer
from funke.engine.sql.plan.changelogs.changes import ALL_KINDS, INSERTS
from funke.engine.sql.plan.joins.temporal_join import TemporalJoin
from funke.engine.sql.plan.lower import lower
from funke.engine.sql.plan.node import as_node
from funke.engine.sql.plan.pruning import without_unused
from funke.engine.sql.rules.temporal_joins import check_versions
from funke.engine.sql.statements.plans.job_plans import planned_rows
from funke.engine.types.logical.data_types import DataTypes
from funke.table import EnvironmentSettings, TableEnvironment
from tests.harness.local_jobs import changes_in
from tests.harness.operator_harness import OperatorHarness
from tests.harness.plan_nodes import factory_of
from tests.harness.sql_changelogs import batch_of, changes_of

ROWTIME = TimeAttribute.ROWTIME
ORDERS = (
    Column("id", DataTypes.INT()),
    Column("currency", DataTypes.STRING()),
    Column("ts", DataTypes.TIMESTAMP(3), ROWTIME),
)
RATES = (
    Column("currency", DataTypes.STRING(False)),
    Column("rate", DataTypes.INT()),
    Column("since", DataTypes.TIMESTAMP(3), ROWTIME),
)
QUERY = "SELECT o.id, r.rate FROM o {} JOIN r FOR SYSTEM_TIME AS OF o.ts ON o.currency = r.currency {}"


def bound(text, rates=None):
    (statement,) = parse(text)
    rates = rates or Scan(RATES, None, ("r",), ALL_KINDS, ("currency",))
    return QueryBinder({("o",): Scan(ORDERS, None, ("o",)), ("r",): rates}.get).bind(statement.query)


def lowered(text, rates=None):
    return lower(bound(text, rates))


def timestamp(time):
    return None if time is None else datetime.datetime(1970, 1, 1) + datetime.timedelta(milliseconds=time)


class Running:
    """Orders and rates, row by row, and the watermark of both."""

    def __init__(self, text, restored=None):
        top = for_consumer(without_unused(lower(bound(text))), ALL_KINDS)
        self.relation, join = top, top.input
        assert isinstance(join, TemporalJoin)
        self._sides = [self._operator(factory_of(each)) if isinstance(each, Calc) else None for each in join.inputs]
        self.join = OperatorHarness(ColumnOperator(factory_of(join)), keeps_columns=True, restored=restored)
        self._last = self._operator(factory_of(top))

    @staticmethod
    def _operator(operator):
        return OperatorHarness(ColumnOperator(operator), keeps_columns=True)

    def order(self, number, currency, time, sign="+I"):
        self._feed(0, [(sign, (number, currency, timestamp(time)))], ORDERS)

    def rate(self, currency, rate, time, sign="+I"):
        self.rates((currency, rate, time), sign=sign)

    def rates(self, *rows, sign="+I"):
        self._feed(1, [(sign, (currency, rate, timestamp(time))) for currency, rate, time in rows], RATES)

    def _feed(self, side, changes, columns):
        plain = tuple(Column(each.name, each.type) for each in columns)
        batches = [batch_of(changes, plain)]
        if self._sides[side] is not None:
            self._sides[side].operator.process_columns(batches[0])
            batches = self._sides[side].elements()
        for batch in batches:
            self.join.operator.columns_handler(side)(batch)

    def watermark(self, time):
        self.join.operator.process_watermark(time)
        results = []
        for batch in self.join.elements():
            if not isinstance(batch, int) and hasattr(batch, "data"):
                self._last.operator.process_columns(batch)
                results += [change for each in self._last.elements() for change in changes_of(each, self.relation)]
        return [(sign, *row) for sign, row in results]


def test_rows_meet_the_version_of_their_time():
    run = Running(QUERY.format("", ""))
    run.rate("EUR", 114, 10)
    run.order(1, "EUR", 9)
    run.order(2, "EUR", 15)
    run.order(3, "USD", 15)
    run.rate("EUR", 116, 20)
    run.order(4, "EUR", 20)
    run.order(5, "EUR", 30)
    assert run.watermark(14) == []
    assert run.watermark(25) == [("+I", 2, 114), ("+I", 4, 116)]
    run.rate("EUR", 119, 26)
    assert run.watermark(30) == [("+I", 5, 119)]


def test_a_left_join_keeps_all_rows_in_order():
    run = Running(QUERY.format("LEFT", ""))
    run.order(1, "EUR", 15)
    run.order(2, None, 3)
    run.rate("EUR", 114, 10)
    run.order(3, "EUR", 5, sign="-D")
    assert run.watermark(100) == [("+I", 1, 114), ("+I", 2, None), ("-D", 3, None)]


def test_versions_end_by_deletion_and_begin_again():
    run = Running(QUERY.format("LEFT", ""))
    run.rate("EUR", 1, 10)
    run.rate("EUR", 1, 10, sign="-U")
    run.rate("EUR", 2, 20, sign="+U")
    run.rate("EUR", 2, 30, sign="-D")
    run.rate("EUR", 4, 40)
    for number, time in enumerate((10, 19, 20, 30, 39, 40)):
        run.order(number, "EUR", time)
    assert [row[2] for row in run.watermark(50)] == [1, 1, 2, None, None, 4]


def test_the_later_of_two_versions_with_one_time_counts():
    run = Running(QUERY.format("", ""))
    run.rate("EUR", 1, 10)
    run.rate("EUR", 2, 10)
    run.order(1, "EUR", 10)
    assert run.watermark(10) == [("+I", 1, 2)]


def test_conditions_beside_the_key():
    run = Running(QUERY.format("LEFT", "AND r.rate > 5 AND o.id <> 2"))
    run.rate("EUR", 1, 10)
    run.rate("EUR", 9, 20)
    for number, time in ((1, 10), (2, 20), (3, 20)):
        run.order(number, "EUR", time)
    assert run.watermark(50) == [("+I", 1, None), ("+I", 2, None), ("+I", 3, 9)]


def test_late_rows_meet_what_is_left():
    run = Running(QUERY.format("LEFT", ""))
    for time in (10, 20):
        run.rate("EUR", time, time)
    assert run.watermark(30) == []
    run.order(1, "EUR", 15)
    run.order(2, "EUR", 25)
    assert run.watermark(31) == [("+I", 1, None), ("+I", 2, 20)]


def test_old_versions_are_forgotten():
    run = Running(QUERY.format("", ""))
    for start in range(0, 5000, 500):
        run.rates(*(("EUR", time, time) for time in range(start, start + 500)))
        run.watermark(start)
    operator = run.join.operator
    assert operator._live == 500 and len(operator._rows) < 3000
    run.order(1, "EUR", 4700)
    assert run.watermark(4800) == [("+I", 1, 4700)]


def test_rows_without_a_time_are_counted():
    run = Running(QUERY.format("", ""))
    run.order(1, "EUR", None)
    assert run.join.operator.metrics()["numNullRowTimeRecordsDropped"] == 1


@settings(max_examples=30)
@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("order"), st.sampled_from("ab"), st.integers(0, 30)),
            st.tuples(st.just("rate"), st.sampled_from("ab"), st.integers(0, 30)),
            st.tuples(st.just("gone"), st.sampled_from("ab"), st.integers(0, 30)),
            st.tuples(st.just("watermark"), st.just(""), st.integers(0, 30)),
        ),
        max_size=30,
    ),
    st.integers(0, 30),
)
def test_every_row_meets_the_version_of_its_time_wherever_it_was_restored(steps, cut):
    """Whatever comes behind the watermark is left out; then the last word on each time counts."""
    run = Running(QUERY.format("LEFT", ""))
    orders, versions, results, watermark = [], {}, [], -1
    for index, (what, key, time) in enumerate(steps):
        if index == cut:
            run = Running(QUERY.format("LEFT", ""), [run.join.snapshot()])
        if what == "watermark" and time > watermark:
            watermark = time
            results += run.watermark(time)
        elif what == "order" and time > watermark:
            run.order(index, key, time)
            orders.append((index, key, time))
        elif what in ("rate", "gone") and time > watermark:
            run.rate(key, index, time, "+I" if what == "rate" else "-D")
            versions[key, time] = index if what == "rate" else None
    results += run.watermark(100)
    expected = {}
    for number, key, time in orders:
        entries = [at for own, at in versions if own == key and at <= time]
        expected[number] = versions[key, max(entries)] if entries else None
    assert {number: rate for _, number, rate in results} == expected and len(results) == len(orders)


def test_kinds_are_those_of_the_left_side():
    relation = for_consumer(lowered(QUERY.format("", "")), ALL_KINDS)
    assert as_node(relation).changelog() == INSERTS
    assert np.all([each.name for each in relation.columns] == ["id", "rate"])


def test_what_has_no_versions_is_rejected():
    no_key = Scan(RATES, None, ("r",), INSERTS)
    with pytest.raises(ValidationException, match="but no primary key can be found"):
        check_versions(lowered(QUERY.format("", ""), no_key))
    no_time = Scan((*RATES[:2], Column("since", DataTypes.TIMESTAMP(3))), None, ("r",), INSERTS, ("currency",))
    with pytest.raises(ValidationException, match="but no row time attribute can be found"):
        check_versions(lowered(QUERY.format("", ""), no_time))
    other_key = Scan(RATES, None, ("r",), INSERTS, ("currency", "rate"))
    with pytest.raises(ValidationException, match=r"primary key \[currency, rate\] must be included"):
        check_versions(lowered(QUERY.format("", ""), other_key))
    by_number = Scan((Column("currency", DataTypes.BIGINT()), *RATES[1:]), None, ("r",), INSERTS, ("currency",))
    with pytest.raises(UnsupportedFeatureError, match="a temporal join by INT and BIGINT"):
        check_versions(lowered(QUERY.replace("o.currency", "o.id").format("", ""), by_number))


RATE_ROWS = [("EUR", 100, 1), ("EUR", 110, 5), ("USD", 50, 2), ("EUR", 105, 3), ("EUR", 120, 20)]
ORDER_ROWS = [(1, "EUR", 2), (2, "EUR", 4), (3, "USD", 1), (4, "EUR", 10), (5, "EUR", 30), (6, "GBP", 10)]
VIEW = "SELECT {} FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY currency ORDER BY {}) AS rn FROM rates) WHERE rn = 1"


@pytest.fixture(scope="module")
def t_env(tmp_path_factory):
    environment = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    tables = {
        "rates": ("currency STRING, rate INT, ts TIMESTAMP(3)", ("currency", "rate", "ts"), RATE_ROWS),
        "orders": ("id INT, currency STRING, ts TIMESTAMP(3)", ("id", "currency", "ts"), ORDER_ROWS),
    }
    for name, (columns, names, rows) in tables.items():
        path = tmp_path_factory.mktemp(name) / "rows.json"
        timed = [(*row[:2], f"2024-01-01 00:00:{row[2]:02}") for row in rows]
        path.write_text("\n".join(json.dumps(dict(zip(names, row))) for row in timed))
        environment.execute_sql(
            f"CREATE TABLE {name} ({columns}, WATERMARK FOR ts AS ts - INTERVAL '3' SECOND) "
            f"WITH ('connector' = 'filesystem', 'format' = 'json', 'path' = '{path}')"
        )
    return environment


@pytest.mark.parametrize(
    ("order", "rates"),
    [
        # As PyFlink 2.3 has answered; a rate that comes behind a later one is left out of the last ones.
        ("ts DESC", [100, 100, None, 110, 120, None]),
        ("ts", [100, 100, None, 100, 100, None]),
        ("rate DESC", [100, 100, None, 110, 120, None]),
    ],
)
def test_a_deduplication_has_versions(t_env, order, rates):
    t_env.create_temporary_view("versions", t_env.sql_query(VIEW.format("currency, rate, ts", order)))
    join = "LEFT JOIN versions FOR SYSTEM_TIME AS OF o.ts AS r ON o.currency = r.currency"
    relation = planned_rows(t_env._session, t_env.sql_query(f"SELECT o.id, r.rate FROM orders o {join}")._relation)
    t_env.drop_temporary_view("versions")
    assert sorted(row for _, row in changes_in(relation, is_batch=False)) == list(enumerate(rates, 1))


@pytest.mark.parametrize(
    ("view", "missing"),
    [
        (VIEW.format("currency, rate", "ts DESC"), "no row time attribute"),
        (VIEW.format("rate, ts", "ts DESC"), "no primary key"),
        ("SELECT * FROM rates", "no primary key"),
    ],
)
def test_views_without_versions(t_env, view, missing):
    t_env.create_temporary_view("versions", t_env.sql_query(view))
    join = "SELECT o.id FROM orders o JOIN versions FOR SYSTEM_TIME AS OF o.ts AS r ON o.id = r.rate"
    with pytest.raises(ValidationException, match=f"in versioned table, but {missing} can be found"):
        t_env.explain_sql(join)
    t_env.drop_temporary_view("versions")
