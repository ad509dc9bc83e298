"""Each SQL function has an example, and the examples give what the documentation says."""

from __future__ import annotations

import pytest

from funke.engine.sql.functions.aggregates.catalog import AGGREGATES
from funke.engine.sql.functions.catalog import GROUPS
from tests.harness.function_examples import EXAMPLES, examples, result_of, updated

# Not written in SQL by these names, or only where a table has a watermark.
_WITHOUT = {"interval number", "interval units", "current_watermark"}


def test_every_function_has_one() -> None:
    functions = [each.names[0] for group in GROUPS.values() for each in group]
    functions += [each.names[0] for each in AGGREGATES if not each.name.startswith("$")]
    assert {each.function for each in examples()} == set(functions) - _WITHOUT


def test_they_give_what_the_file_says(request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--update-cases", default=False):
        EXAMPLES.write_text(updated(), encoding="utf-8")
    for each in examples():
        result = result_of(each.expression)
        assert each.result in ("", result), each.function
