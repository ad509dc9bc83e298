"""Key selectors and partitioners in all the forms that programs give them in."""

from __future__ import annotations

from typing import Any

import cloudpickle
import pytest

from funke.common import Row, Types
from funke.datastream import KeySelector, Partitioner
from funke.engine.errors import UnsupportedFeatureError
from funke.engine.operators.key_functions import key_function, keyed_row, partition_function


class Opened(KeySelector):
    def open(self, runtime_context: Any) -> None:
        self.offset = 10

    def get_key(self, value: Any) -> Any:
        return value + self.offset


class UsesContext(KeySelector):
    def open(self, runtime_context: Any) -> None:
        runtime_context.get_task_name()

    def get_key(self, value: Any) -> Any:
        return value


class Fixed(Partitioner):
    def partition(self, key: Any, num_partitions: int) -> int:
        return num_partitions - 1


def double(value: int) -> int:
    return value * 2


def test_a_callable_is_its_own_key_function() -> None:
    assert key_function(double) is double
    assert key_function(double, Types.STRING()) is double


def test_a_selector_that_must_be_opened_is_opened_by_its_first_call() -> None:
    select = cloudpickle.loads(cloudpickle.dumps(key_function(Opened())))
    assert [select(1), select(2)] == [11, 12]


def test_a_selector_has_no_runtime_context() -> None:
    with pytest.raises(UnsupportedFeatureError, match=r"get_task_name\(\) of the runtime context in a key selector"):
        key_function(UsesContext())(1)


def test_a_declared_type_shapes_the_key_also_after_a_journey() -> None:
    select = key_function(double, Types.BYTE())
    copied = cloudpickle.loads(cloudpickle.dumps(select))
    assert select(100) == copied(100) == -56


def test_partitioners() -> None:
    assert partition_function(Fixed())("key", 4) == 3
    assert partition_function(lambda key, count: key % count)(5, 4) == 1


def test_what_is_neither_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="key_by"):
        key_function(5)
    with pytest.raises(TypeError, match="partition_custom"):
        partition_function("x")


def test_rows_of_key_and_element() -> None:
    assert keyed_row(double)(4) == Row(8, 4)
