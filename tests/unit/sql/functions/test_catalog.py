"""The table of functions is whole: names once, words for each, and a page made from it."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from funke.engine.sql.functions.catalog import FUNCTIONS, GROUPS, find_function

ROOT = Path(__file__).resolve().parents[4]


def test_names_stand_once() -> None:
    names = [name for group in GROUPS.values() for function in group for name in function.names]
    assert sorted(names) == sorted(set(names))
    assert all(name == name.lower() for name in names)
    assert find_function("UPPER") is FUNCTIONS["upper"]
    assert find_function("no such function") is None


def test_every_function_says_what_it_is_for_and_has_one_body() -> None:
    for function in FUNCTIONS.values():
        assert function.purpose, function.name
        assert (function.body is None) != (function.body_for is None), function.name
        assert all(form.parameters is not None for form in function.alternatives)


def test_the_page_is_made_from_the_table() -> None:
    spec = importlib.util.spec_from_file_location("sql_functions", ROOT / "tools" / "sql_functions.py")
    assert spec is not None and spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    page = (ROOT / "docs" / "sql-functions.md").read_text(encoding="utf-8")
    assert page == tool.to_markdown(), "run python tools/sql_functions.py"
