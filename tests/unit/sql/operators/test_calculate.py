"""Columns that are computed of others, and rows that are kept."""

from __future__ import annotations

from typing import Any

import pytest

from funke.engine.sql.functions import evaluation
from tests.harness.sql_changelogs import RunningQuery, bound_query


def test_what_occurs_twice_is_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    plain = evaluation.column_function

    def counted(call: Any) -> Any:
        evaluate = plain(call)

        def noted(columns: Any, length: int) -> Any:
            calls.append(call.function.name)
            return evaluate(columns, length)

        return noted

    monkeypatch.setattr("funke.engine.sql.binding.expressions.column_function", counted)
    text = "SELECT UPPER(item), CHAR_LENGTH(UPPER(item)) FROM t WHERE UPPER(item) <> 'BEER'"
    query = RunningQuery(bound_query(text, item="STRING"))
    assert query.feed([("+I", ("beer",)), ("+I", (None,)), ("+I", ("rubber",))]) == [("+I", ("RUBBER", 6))]
    assert sorted(calls) == ["<>", "char_length", "upper"]
