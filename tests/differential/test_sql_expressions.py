"""Random expressions give on Funke what they gave on the reference, by kernels and by bodies.

`sql/record_expressions.py` has recorded them over the table of `sql/nasty_values.py`.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import pyarrow as pa
import pytest

from funke.engine.errors import FunkeError
from funke.engine.sql.binding import expressions
from funke.engine.sql.binding.expressions import BoundExpression, column_of
from funke.engine.sql.binding.query_binder import QueryBinder
from funke.engine.sql.binding.relations import Calculation, Column, Scan
from funke.engine.sql.functions.evaluation import mapped_body
from funke.engine.sql.functions.values import from_values, to_value, to_values
from funke.engine.sql.operators.calculate import schema_of
from funke.engine.sql.parsing import parse
from funke.engine.sql.syntax.statements import QueryStatement
from funke.engine.types.information.scalar_coercion import round_to_float32
from funke.engine.types.logical.sql_text import from_sql_text, to_sql_text
from tests.differential.sql.known_differences import LACKS, LAST_DIGIT, rows_not_compared
from tests.differential.sql.nasty_values import COLUMNS, COMPUTED, ROWS, python_values
from tests.differential.sql.recorded_form import plain, read_lines

TYPES = {name: each[0] for name, each in (COLUMNS | COMPUTED).items()}
TABLE = Scan(tuple(Column(name, from_sql_text(each)) for name, each in TYPES.items()), None, ("t",))
RECORDED = read_lines("sql_expressions.jsonl.gz")
# Many expressions in one test: a test for each would cost more than the expressions.
PARTS = 16


@pytest.fixture(scope="module")
def batch() -> pa.RecordBatch:
    arrays = [from_values(python_values(each.name), each.type) for each in TABLE.columns]
    return pa.RecordBatch.from_arrays(arrays, schema=schema_of(TABLE.columns))


@cache
def bound(text: str) -> BoundExpression:
    (statement,) = parse(f"SELECT {text} FROM t")
    assert isinstance(statement, QueryStatement)
    relation = QueryBinder({("t",): TABLE}.get).bind(statement.query)
    assert isinstance(relation, Calculation)
    return relation.expressions[0]


def outcome(entry: dict[str, Any], batch: pa.RecordBatch) -> dict[str, Any]:
    """What comes out, in the form of the recording."""
    try:
        expression = bound(entry["e"])
    except FunkeError as error:
        return {"x": "refused", "why": str(error)}
    expected_type: dict[str, Any] = {"t": to_sql_text(expression.type)}
    try:
        column = column_of(expression)(batch)
        is_constant = isinstance(column, pa.Scalar)
        values = [to_value(column, expression.type)] * ROWS if is_constant else to_values(column, expression.type)
    except (FunkeError, ArithmeticError, ValueError) as error:
        return expected_type | {"x": "fails", "why": f"{type(error).__name__}: {error}"}
    return expected_type | {"v": [plain(each) for each in values]}


def difference(entry: dict[str, Any], batch: pa.RecordBatch) -> str | None:
    ignored = rows_not_compared(entry["e"])
    if ignored is None or LACKS.search(entry.get("why", "")):
        return None
    actual = outcome(entry, batch)
    expected = {name: entry[name] for name in ("t", "v") if name in entry}
    if "x" in entry:
        # What fails there when it runs may be refused here before.
        is_same = actual.get("x") == entry["x"] or (entry["x"], actual.get("x")) == ("fails", "refused")
    else:
        has_last_digit = LAST_DIGIT.search(entry["e"]) is None
        if actual.get("why", "").startswith("OverflowError: date value"):
            return None  # years are those of Python
        is_same = actual.get("t") == expected.get("t", actual.get("t")) and "v" in actual
        if expected.get("t", "").startswith("FLOAT") and is_same:
            actual["v"], expected["v"] = as_floats(actual["v"]), as_floats(expected["v"])
        is_same = is_same and all(
            row in ignored or one == other or (not has_last_digit and are_close(one, other))
            for row, (one, other) in enumerate(zip(actual["v"], expected["v"], strict=True))
        )
    return None if is_same else f"{entry['e']}\n  wanted {entry}\n  found  {actual}"


def as_floats(values: list[Any]) -> list[Any]:
    """Floats of 32 bits; PyFlink gives them with the digits that tell them apart."""
    return [None if each is None else {"float": repr(round_to_float32(float(each["float"])))} for each in values]


def are_close(one: Any, other: Any) -> bool:
    if not (isinstance(one, dict) and isinstance(other, dict) and "float" in one and "float" in other):
        return False
    return math.isclose(float(one["float"]), float(other["float"]), rel_tol=4e-15)


@pytest.mark.parametrize("way", ["kernels", "bodies"])
@pytest.mark.parametrize("part", range(PARTS))
def test_values_are_those_of_the_reference(
    part: int, way: str, batch: pa.RecordBatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    if way == "bodies":
        monkeypatch.setattr(expressions, "column_function", mapped_body)
    different = [result for each in RECORDED[part::PARTS] if (result := difference(each, batch)) is not None]
    assert not different, "\n".join(different)
