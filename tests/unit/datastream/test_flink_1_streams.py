"""Operations that Flink 1.x had and PyFlink never did: fold, split and select."""

from __future__ import annotations

from typing import Any

import pytest

from funke.common.time import Time
from funke.datastream import DataStream, StreamExecutionEnvironment
from funke.datastream.functions import FoldFunction
from funke.datastream.output_selector import OutputSelector
from funke.datastream.window import EventTimeSessionWindows, TumblingEventTimeWindows
from funke.engine.errors import ConfigurationError
from tests.harness.operator_harness import OperatorHarness


class Joined(FoldFunction):
    def open(self, runtime_context: Any) -> None:
        self.separator = "-"

    def fold(self, accumulator: str, value: Any) -> str:
        return f"{accumulator}{self.separator}{value[1]}"


class ByParity(OutputSelector):
    def select(self, value: Any) -> list[str]:
        return ["even" if value % 2 == 0 else "odd", "all"]


@pytest.fixture
def pairs() -> DataStream:
    return StreamExecutionEnvironment.get_execution_environment().from_collection([("a", 1)])


def harness_of(stream: DataStream) -> OperatorHarness:
    assert stream._node is not None
    return OperatorHarness(stream._node.operation)


def test_a_fold_emits_the_value_of_each_key_so_far(pairs: DataStream) -> None:
    keyed = pairs.key_by(lambda pair: pair[0])
    harness = harness_of(keyed.fold("start", Joined()))
    harness.process_batch([("a", 1), ("b", 2), ("a", 3)], None)
    assert harness.outputs() == ["start-1", "start-2", "start-1-3"]


def test_every_key_begins_with_a_value_of_its_own(pairs: DataStream) -> None:
    harness = harness_of(pairs.key_by(lambda pair: pair[0]).fold([], lambda numbers, pair: [*numbers, pair[1]]))
    harness.process_batch([("a", 1), ("b", 2), ("a", 3)], None)
    assert harness.outputs() == [[1], [2], [1, 3]]


def test_a_window_is_folded_when_it_fires(pairs: DataStream) -> None:
    windows = pairs.key_by(lambda pair: pair[0]).window(TumblingEventTimeWindows.of(Time.milliseconds(10)))
    harness = harness_of(windows.fold("start", Joined()))
    harness.process_batch([("a", 1), ("a", 2), ("a", 3)], [1, 2, 11])
    harness.end_input()
    assert harness.outputs() == ["start-1-2", "start-3"]


def test_windows_that_merge_cannot_be_folded(pairs: DataStream) -> None:
    windows = pairs.key_by(lambda pair: pair[0]).window(EventTimeSessionWindows.with_gap(Time.milliseconds(10)))
    with pytest.raises(ConfigurationError, match="cannot merge what was folded"):
        windows.fold(0, lambda total, pair: total)


@pytest.mark.parametrize("selector", [ByParity(), ByParity().select], ids=["object", "callable"])
def test_select_picks_the_elements_of_some_names(selector: Any) -> None:
    numbers = StreamExecutionEnvironment.get_execution_environment().from_collection([1, 2, 3])
    split = numbers.split(selector)
    outputs = {}
    for names in (("even",), ("odd",), ("even", "odd"), ("all",), ("none",)):
        harness = harness_of(split.select(*names))
        harness.process_batch([1, 2, 3], None)
        outputs[names] = harness.outputs()
    assert outputs == {
        ("even",): [2],
        ("odd",): [1, 3],
        ("even", "odd"): [1, 2, 3],
        ("all",): [1, 2, 3],
        ("none",): [],
    }


def test_arguments_that_make_no_sense_are_rejected(pairs: DataStream) -> None:
    with pytest.raises(TypeError, match=r"split\(\) needs a OutputSelector or a callable, got int"):
        pairs.split(5)  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="at least one name"):
        pairs.split(lambda value: ["a"]).select()
    with pytest.raises(TypeError, match=r"fold\(\) needs a FoldFunction or a callable, got int"):
        pairs.key_by(lambda pair: pair[0]).fold(0, 5)  # type: ignore[arg-type]
