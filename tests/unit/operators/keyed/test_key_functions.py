"""Key selectors and partitioners in all the forms that programs give them in."""

from __future__ import annotations

from typing import Any, ClassVar

import cloudpickle
import pytest

from funke.common import Row, Types
from funke.datastream import KeySelector, MapFunction, Partitioner
from funke.engine.errors import JobExecutionError
from funke.engine.operators.keyed.key_functions import key_function, keyed_row, opener_of, partition_function


class Opened(KeySelector):
    """Leaves its calls in a list that all copies share."""

    events: ClassVar[list[str]] = []

    def open(self, runtime_context: Any) -> None:
        self.offset = runtime_context.get_index_of_this_subtask() + 10
        self.events.append("open")

    def get_key(self, value: Any) -> Any:
        return value + self.offset

    def close(self) -> None:
        self.events.append("close")


class OpenedPartitioner(Partitioner):
    def open(self, runtime_context: Any) -> None:
        self.shift = 1

    def partition(self, key: Any, num_partitions: int) -> int:
        return (int(key) + self.shift) % num_partitions


class Fixed(Partitioner):
    def partition(self, key: Any, num_partitions: int) -> int:
        return num_partitions - 1


class Subtask:
    """As much of a runtime context as the selectors above ask for."""

    def __init__(self, index: int) -> None:
        self._index = index

    def get_index_of_this_subtask(self) -> int:
        return self._index


def double(value: int) -> int:
    return value * 2


def test_a_callable_is_its_own_key_function() -> None:
    assert key_function(double) is double
    assert key_function(double, Types.STRING()) is double


def test_copies_of_a_selector_share_the_one_that_was_opened_first() -> None:
    Opened.events.clear()
    of_router = key_function(Opened())
    of_operator = cloudpickle.loads(cloudpickle.dumps(of_router))
    opener = cloudpickle.loads(cloudpickle.dumps(opener_of(of_router)))
    opener.open(Subtask(2))
    of_operator.open(Subtask(3))
    assert [of_router(1), of_operator(2), of_operator.get_key(3), opener.map(4)] == [13, 14, 15, 4]
    opener.close()
    assert of_operator(2) == 14
    assert Opened.events == ["open"]
    of_operator.close()
    assert Opened.events == ["open", "close"]


def test_a_selector_can_be_opened_anew() -> None:
    Opened.events.clear()
    select = key_function(Opened())
    for subtask in (0, 5):
        opener = opener_of(cloudpickle.loads(cloudpickle.dumps(select)))
        assert opener is not None
        opener.open(Subtask(subtask))
        assert cloudpickle.loads(cloudpickle.dumps(select))(1) == 11 + subtask
        opener.close()
    assert Opened.events == ["open", "close"] * 2


def test_a_selector_that_nobody_opened_says_so() -> None:
    with pytest.raises(JobExecutionError, match=r"Opened is called before open\(\)"):
        key_function(Opened())(1)


def test_an_opened_selector_has_its_declared_type() -> None:
    select = key_function(Opened(), Types.BYTE())
    opener = opener_of(select)
    assert opener is not None
    opener.open(Subtask(0))
    assert select(118) == -128
    opener.close()


def test_only_what_must_be_opened_needs_an_opener() -> None:
    assert opener_of(key_function(double), partition_function(Fixed())) is None


def test_rows_with_a_selector_that_must_be_opened() -> None:
    rows = keyed_row(key_function(Opened()))
    assert isinstance(rows, MapFunction)
    rows.open(Subtask(0))
    assert rows.map(4) == Row(14, 4)
    rows.close()


def test_a_declared_type_shapes_the_key_also_after_a_journey() -> None:
    select = key_function(double, Types.BYTE())
    copied = cloudpickle.loads(cloudpickle.dumps(select))
    assert select(100) == copied(100) == -56


def test_partitioners() -> None:
    assert partition_function(Fixed())("key", 4) == 3
    assert partition_function(lambda key, count: key % count)(5, 4) == 1


def test_a_partitioner_that_must_be_opened() -> None:
    partition = partition_function(OpenedPartitioner())
    opener = opener_of(partition)
    assert opener is not None
    opener.open(Subtask(0))
    assert partition(2, 3) == 0
    opener.close()


def test_what_is_neither_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="key_by"):
        key_function(5)
    with pytest.raises(TypeError, match="partition_custom"):
        partition_function("x")


def test_rows_of_key_and_element() -> None:
    to_row = keyed_row(double)
    assert callable(to_row)
    assert to_row(4) == Row(8, 4)
