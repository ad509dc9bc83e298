"""The compiled loop of aggregates sends what the aggregates do one after the other."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from funke.engine.sql.operators.aggregates.compiled_aggregates import CompiledAggregates
from funke.engine.sql.plan.changelogs.changes import ChangeSettings
from tests.harness.backends import choice_of
from tests.harness.kernel_forms import use_form
from tests.harness.sql_changelogs import Change, RunningQuery, bound_query

COLUMNS = {"k": "STRING", "n": "BIGINT", "i": "INT", "a": "BIGINT", "b": "DOUBLE", "t": "TIMESTAMP(3)", "c": "BOOLEAN"}
QUERY = """
    SELECT {keys}, COUNT(*), COUNT(a), COUNT(b) FILTER (WHERE c), SUM(a), SUM(b), AVG(a), AVG(b) FILTER (WHERE c),
        MIN(a), MAX(a) FILTER (WHERE c), MIN(b), MAX(b), MAX(t), MIN(t)
    FROM t GROUP BY {keys}
"""
ROWS = st.lists(
    st.tuples(
        st.sampled_from(["x", "y", None]),
        st.sampled_from([7, -(2**63), None]),
        st.sampled_from([1, 2]),
        st.none() | st.integers(-9, 9) | st.sampled_from([2**63 - 1, -(2**63)]),
        st.none() | st.sampled_from([0.0, -0.0, 1.5, -2.25, float("nan"), float("inf")]),
        st.none()
        | st.datetimes(datetime.datetime(1970, 1, 1), datetime.datetime(2030, 1, 1)).map(
            lambda each: each.replace(microsecond=0)
        ),
        st.none() | st.booleans(),
    ),
    max_size=12,
)


def changes_of(form: str, text: str, rows: list[Any], size: int, backend: str, ttl_ms: int) -> list[Change]:
    with pytest.MonkeyPatch.context() as patch:
        use_form(form, patch)
        query = RunningQuery(
            bound_query(text, settings=ChangeSettings(ttl_ms=ttl_ms), **COLUMNS), backend=choice_of(backend)
        )
        changes = [
            change
            for start in range(0, len(rows), size)
            for change in query.feed([("+I", row) for row in rows[start : start + size]])
        ]
        query.close()
    return changes


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=ROWS,
    size=st.integers(1, 12),
    backend=st.sampled_from(["hashmap", "rocksdb"]),
    ttl_ms=st.sampled_from([0, 1000]),
    keys=st.sampled_from(["k", "n", "i", "n, k"]),
)
@pytest.mark.parametrize("form", ["compiled", "plain"])
@pytest.mark.filterwarnings("ignore:overflow encountered")
def test_changes_are_the_same(form: str, rows: list[Any], size: int, backend: str, ttl_ms: int, keys: str) -> None:
    arguments = QUERY.format(keys=keys), rows, size, backend, ttl_ms
    assert repr(changes_of(form, *arguments)) == repr(changes_of("none", *arguments))


@pytest.mark.parametrize(
    ("call", "is_compiled"),
    [
        ("COUNT(*)", True),
        ("SUM(a)", True),
        ("MAX(t)", True),
        ("SUM(CAST(a AS INT))", False),
        ("MAX(k)", False),
        ("SUM(CAST(a AS DECIMAL(10, 2)))", False),
        ("COUNT(DISTINCT a)", False),
    ],
)
def test_what_the_loop_has(call: str, is_compiled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    used: list[bool] = []
    run = CompiledAggregates.run
    monkeypatch.setattr(CompiledAggregates, "run", lambda *each: [used.append(True), run(*each)][1])
    use_form("compiled", monkeypatch)
    query = RunningQuery(bound_query(f"SELECT k, {call} FROM t GROUP BY k", **COLUMNS))
    query.feed([("+I", ("x", 1, 1, 1, 1.0, datetime.datetime(2020, 1, 1), True))])
    assert bool(used) == is_compiled
