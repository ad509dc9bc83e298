"""Key hashes depend on the value of the key alone."""

from __future__ import annotations

import dataclasses
import datetime
import enum
import math
import os
import subprocess
import sys
from collections import namedtuple
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from funke.engine.types import Instant, Row, stable_hash

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(),
    st.binary(),
    st.decimals(allow_nan=False),
    st.datetimes(),
    st.dates(),
)
KEYS = st.recursive(SCALARS, lambda inner: st.tuples(inner, inner) | st.frozensets(inner, max_size=3), max_leaves=5)


class Colour(enum.Enum):
    RED = 1


class Number(enum.IntEnum):
    ONE = 1


@dataclasses.dataclass(frozen=True)
class Point:
    x: int
    y: int


Pair = namedtuple("Pair", "a b")
UTC = datetime.UTC
PLUS_TWO = datetime.timezone(datetime.timedelta(hours=2))

EXAMPLES = """[1, -1, 2**70, 1.5, True, None, "user-1", "ü", b"ab", ("a", 1), frozenset([1, "a", (2,)]),
    Row(a=1, b="x"), Row("x"), Decimal("1.50"), {"a": [1]}, Instant(5, 0),
    datetime.date(2018, 3, 11), datetime.datetime(2018, 3, 11, 3), datetime.time(3, 4)]"""


@given(KEYS)
def test_range_and_repeatability(key: Any) -> None:
    assert 0 <= stable_hash(key) < 2**31
    assert stable_hash(key) == stable_hash(key)


@pytest.mark.parametrize(
    "equal",
    [
        (1, 1.0, True, Decimal(1), Decimal("1.00"), Fraction(1), numpy.int64(1), numpy.float32(1), Number.ONE),
        (0.0, -0.0, 0, False),
        (2**60, float(2**60)),
        (math.nan, float("nan"), Decimal("nan")),
        (Row(a=1, b=2), Row(b=2, a=1), Row(b=2.0, a=True)),
        (("a", 1), Pair("a", 1), ("a", 1.0)),
        (frozenset("abc"), frozenset("cba"), {"a", "b", "c"}),
        (Point(1, 2), Point(1, 2)),
        (Colour.RED, Colour.RED),
        ("a", numpy.str_("a")),
        (datetime.time(3, tzinfo=UTC), datetime.time(5, tzinfo=PLUS_TWO)),
        (datetime.datetime(2018, 3, 11, 3, tzinfo=UTC), datetime.datetime(2018, 3, 11, 5, tzinfo=PLUS_TWO)),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
    ],
    # The order of a set is not the same in every process.
    ids=lambda keys: "set" if isinstance(keys[0], frozenset) else repr(keys),
)
def test_equal_keys_hash_equally(equal: tuple[Any, ...]) -> None:
    assert len({stable_hash(key) for key in equal}) == 1


def test_every_process_computes_the_same() -> None:
    program = (
        "import datetime; from decimal import Decimal; from funke.engine.types import Instant, Row, stable_hash\n"
        f"print([stable_hash(key) for key in {EXAMPLES}])"
    )
    outputs = {_run(program, seed) for seed in ("0", "4711")}
    here = [stable_hash(key) for key in eval(EXAMPLES, {**globals(), "Instant": Instant})]
    assert outputs == {str(here)}


def _run(program: str, seed: str) -> str:
    path = os.pathsep.join(filter(None, sys.path))
    environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": path}
    return subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    ).stdout.strip()
