"""Values that do not fit their declared type are found; what only changes its form is not told."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import numpy
import pytest

from funke.engine.types import Row, TypeInformation, Types
from funke.engine.types.information.type_mismatch import mismatch_of

T = Types
PAIR = T.ROW_NAMED(["a", "b"], [T.STRING(), T.INT()])


@pytest.mark.parametrize(
    ("type_info", "value", "text"),
    [
        (T.INT(), 1.5, "1.5 becomes 1"),
        (T.INT(), 2**31, "2147483648 becomes -2147483648"),
        (T.BOOLEAN(), 5, "5 becomes True"),
        (T.INT(), "a", "'a' is rejected"),
        (T.STRING(), 1, "1 is rejected"),
        (T.TUPLE([T.INT(), T.INT()]), (1, 2, 3), "(1, 2, 3) becomes (1, 2)"),
        (T.TUPLE([T.INT(), T.INT()]), (1, 2.5), "(1, 2.5) becomes (1, 2)"),
        (T.TUPLE([T.INT(), T.INT()]), (1,), "(1,) is rejected"),
        (PAIR, ("x", 1), "('x', 1) becomes Row(a='x', b=1)"),
        (PAIR, {"a": "x", "b": 1}, "{'a': 'x', 'b': 1} becomes Row(a='x', b=1)"),
        (PAIR, Row(b=1.5, a="x"), "Row(b=1.5, a='x') becomes Row(a='x', b=1)"),
        (PAIR, Row(a="x", b=1, c=2), "Row(a='x', b=1, c=2) becomes Row(a='x', b=1)"),
        (T.LIST(T.INT()), [1, 2.5], "[1, 2.5] becomes [1, 2]"),
        (T.MAP(T.STRING(), T.INT()), {"a": 1.5}, "{'a': 1.5} becomes {'a': 1}"),
        (T.STRING(), list(range(100)), f"{str(list(range(100)))[:77]}... is rejected"),
    ],
    ids=repr,
)
def test_a_mismatch_is_reported_with_what_becomes_of_it(type_info: TypeInformation, value: Any, text: str) -> None:
    mismatch = mismatch_of(type_info, value)
    assert mismatch is not None and mismatch.text == text
    assert mismatch.is_rejected == text.endswith("is rejected")


@pytest.mark.parametrize(
    ("type_info", "value"),
    [
        (T.INT(), 1),
        (T.INT(), 2.0),
        (T.INT(), True),
        (T.INT(), None),
        (T.LONG(), numpy.int64(7)),
        (T.FLOAT(), 0.1),
        (T.DOUBLE(), 1),
        (T.BIG_DEC(), 0.1),
        (T.TUPLE([T.INT(), T.DOUBLE()]), [1, 2]),
        (T.TUPLE([T.INT(), T.DOUBLE()]), Row(1, 2.0)),
        (PAIR, Row("x", 1)),
        (PAIR, Row(b=1, a="x")),
        (T.LIST(T.DOUBLE()), numpy.array([1.5, 2.5])),
        (T.MAP(T.STRING(), T.DOUBLE()), {"a": 1}),
        (T.PRIMITIVE_ARRAY(T.BYTE()), bytearray(b"ab")),
        (T.SQL_DATE(), datetime.date(2018, 3, 11)),
        (T.BIG_DEC(), Decimal("1.50")),
        (T.PICKLED_BYTE_ARRAY(), {1, 2}),
    ],
    ids=repr,
)
def test_another_form_or_precision_is_no_mismatch(type_info: TypeInformation, value: Any) -> None:
    assert mismatch_of(type_info, value) is None
