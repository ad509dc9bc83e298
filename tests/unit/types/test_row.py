"""Rows behave as PyFlink's do: the expected texts were produced by PyFlink 2.3."""

from __future__ import annotations

import copy
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from funke.engine.types import Row, RowKind

NAMES = st.lists(st.from_regex(r"[a-z]{1,4}", fullmatch=True), unique=True, min_size=1, max_size=5)


@pytest.mark.parametrize(
    ("row", "text"),
    [
        (Row("a", 2), "<Row('a', 2)>"),
        (Row(f0=1, f1="hi"), "Row(f0=1, f1='hi')"),
        (Row(b=7, a="z"), "Row(b=7, a='z')"),
        (Row("a", Row("b", None)), "<Row('a', <Row('b', None)>)>"),
        (Row(), "<Row()>"),
        (Row("name", "age")("Alice", 11), "Row(name='Alice', age=11)"),
    ],
)
def test_repr_and_str(row: Row, text: str) -> None:
    assert repr(row) == str(row) == text


def test_values_are_reached_by_position_and_name() -> None:
    row = Row(name="Alice", age=11)
    assert (row[0], row["age"], row.name, row[-1], row[0:1]) == ("Alice", 11, "Alice", 11, ["Alice"])
    assert list(row) == ["Alice", 11] and len(row) == 2
    assert "name" in row and "Alice" not in row and "Alice" in Row("Alice")
    row["age"] = 12
    row[0] = "Bob"
    assert row == Row(name="Bob", age=12)


def test_unknown_names_are_errors() -> None:
    with pytest.raises(AttributeError):
        _ = Row(a=1).b
    with pytest.raises(ValueError):
        _ = Row(a=1)["b"]
    with pytest.raises(AttributeError):
        _ = Row(1)["a"]
    with pytest.raises(KeyError):
        Row(1)["a"] = 2
    with pytest.raises(AttributeError):
        Row(a=1).a = 2
    with pytest.raises(Exception, match=r"\['x'\] not exist"):
        Row(a=1).get_fields_by_names(["x"])


def test_positional_and_named_values_do_not_mix() -> None:
    with pytest.raises(ValueError):
        Row(1, a=2)
    with pytest.raises(ValueError):
        Row("name")("Alice", 11)


def test_as_dict() -> None:
    row = Row(key=1, value=Row(name="a", tags=[Row(x=1)], more={"k": Row(y=2)}))
    assert row.as_dict() == {"key": 1, "value": Row(name="a", tags=[Row(x=1)], more={"k": Row(y=2)})}
    assert row.as_dict(True) == {"key": 1, "value": {"name": "a", "tags": [{"x": 1}], "more": {"k": {"y": 2}}}}
    with pytest.raises(TypeError):
        Row(1, 2).as_dict()


def test_kinds() -> None:
    row = Row.of_kind(RowKind.UPDATE_BEFORE, "a", 1)
    assert row.get_row_kind() is RowKind.UPDATE_BEFORE and row != Row("a", 1)
    row.set_row_kind(RowKind.INSERT)
    assert row == Row("a", 1)
    assert [str(kind) for kind in RowKind] == ["+I", "-U", "+U", "-D"]
    assert Row.of_kind(RowKind.DELETE, "name")("x").get_row_kind() is RowKind.DELETE


def test_equality_is_by_name_in_any_order() -> None:
    assert Row(a=1, b=2) == Row(b=2, a=1)
    assert Row(a=1, b=2) != Row(a=2, b=1)
    assert Row(1, 2) != Row(a=1, b=2)
    assert Row(1, 2) != (1, 2)


def test_fields_by_names_and_new_names() -> None:
    row = Row(a=1, b=2)
    assert row.get_fields_by_names(["b", "a"]) == [2, 1]
    assert Row(1, 2).get_fields_by_names(["b", "a"]) == [1, 2]
    row.set_field_names(["x", "y"])
    assert repr(row) == "Row(x=1, y=2)"


@given(NAMES, st.sampled_from(RowKind), st.booleans())
def test_copies_and_pickles_are_equal(names: list[str], kind: RowKind, named: bool) -> None:
    values = list(range(len(names)))
    row = Row.of_kind(kind, **dict(zip(names, values, strict=True))) if named else Row.of_kind(kind, *values)
    for protocol in (2, 5):
        assert pickle.loads(pickle.dumps(row, protocol)) == row
    assert copy.deepcopy(row) == row and copy.copy(row) == row
    assert repr(pickle.loads(pickle.dumps(row))) == repr(row)
    assert hash(row) == hash(tuple(values))
