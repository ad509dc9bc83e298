"""The keys of many records: what a selector gives for each of them, however they are computed."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import cloudpickle
import pytest

from funke.common import Types
from funke.engine.operators.keyed.key_functions import key_function
from funke.engine.operators.keyed.key_lists import field_of_key, key_list

FIRST = 0


class Shifted:
    """A record with positions of its own."""

    def __getitem__(self, index: Any) -> Any:
        return type(index), index


def first(row: Any) -> Any:
    return row[0]


def first_with_words(row: Any) -> Any:
    """The first field."""
    return row[0]


RECORDS: dict[str, list[Any]] = {
    "tuples": [("a", 1, 2.0), ("b", 2, 3.0), ("a", 3, 4.0)],
    "dicts": [{"word": "x", 0: "zero", 1: "one", -1: "last", 12: "twelve"}],
    "objects": [SimpleNamespace(word="y"), SimpleNamespace(word="z")],
    "own positions": [Shifted()],
}
SELECTORS: list[Callable[[Any], Any]] = [
    lambda row: row,
    lambda row: row[0],
    lambda x: x[1],
    lambda row: row[-1],
    lambda row: row[12],
    lambda row: row[300],
    lambda row: row["word"],
    lambda row: row.word,
    # These are not what they look like.
    lambda row: row[0.0],
    lambda row: row[True],
    lambda row: row[FIRST],
    lambda row, of=1: row[of],
    lambda row: row[0][0],
    lambda row: (row[0], row[1]),
    lambda row: 0,
    lambda row: "word",
    first,
    first_with_words,
    str,
]


def outcome(compute: Callable[[], Any]) -> Any:
    try:
        return repr(compute())
    except Exception as error:
        return repr(error)


@pytest.mark.parametrize("records", RECORDS)
@pytest.mark.parametrize("number", range(len(SELECTORS)))
def test_keys_are_those_of_single_records(number: int, records: str) -> None:
    select, values = SELECTORS[number], RECORDS[records]
    for each in (select, cloudpickle.loads(cloudpickle.dumps(select))):
        keys = key_list(each)
        assert outcome(partial(keys, values)) == outcome(lambda: [select(value) for value in values])


def test_captured_variables_are_no_constants() -> None:
    index = 2
    assert key_list(lambda row: row[index])([("a", "b", "c")]) == ["c"]


def test_a_selector_fails_in_its_own_line() -> None:
    with pytest.raises(IndexError) as caught:
        key_list(first)([("a",), ()])
    assert traceback.extract_tb(caught.value.__traceback__)[-1].name == "first"


def test_keys_fit_the_declared_type() -> None:
    keys = key_list(key_function(lambda row: row[0], Types.LONG()))
    assert keys([(1,), (2,)]) == [1, 2]
    with pytest.raises(Exception, match="word"):
        keys([("word",)])


def test_imports_of_the_file_and_where_a_function_stands_make_no_difference() -> None:
    # This file imports annotations from __future__; most programs do not.
    plain = eval(compile("lambda payment: payment.card", "job.py", "eval", dont_inherit=True))

    def nested() -> Any:
        return lambda payment: payment["card"]

    results = [field_of_key(each) for each in (plain, nested(), lambda payment: payment[1], lambda payment: payment)]
    assert results == ["card", "card", 1, None]
