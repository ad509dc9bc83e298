"""The contents of windows are written by bootstrap transformations and read window by window."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from funke.common import Time, Types
from funke.datastream.state import ListStateDescriptor, ReducingStateDescriptor
from funke.datastream.window import (
    EventTimeSessionWindows,
    EventTimeTrigger,
    GlobalWindows,
    SlidingEventTimeWindows,
    TimeWindow,
    TumblingEventTimeWindows,
)
from funke.engine.errors import StateError
from funke.engine.graph.operations import Window
from funke.engine.operators.windowing.evictor import CountEvictor
from funke.engine.operators.windowing.triggers import CountTrigger
from funke.engine.operators.windowing.window_operator import CONTENTS
from funke.engine.state_processor.state_parts import keyed_pieces
from funke.engine.state_processor.state_table import StateTable
from funke.engine.state_processor.window_combining import reducing
from funke.engine.state_processor.window_reading import PassThroughReader, WindowReading
from funke.engine.types.functions import AggregateFunction
from funke.engine.types.information.type_information import PickledBytesTypeInfo
from funke.state_api import WindowReaderFunction
from tests.harness.operator_harness import OperatorHarness
from tests.unit.state_processor.savepoint_making import OPERATOR_ID, UID, read_all, savepoint_of, write_state

VALUES = [("a", 1), ("a", 2), ("b", 5), ("a", 10)]
TIMES = [100, 900, 200, 1500]


def key(value: tuple[str, int]) -> str:
    return value[0]


def add(left: tuple[str, int], right: tuple[str, int]) -> tuple[str, int]:
    return left[0], left[1] + right[1]


def window(assigner: Any, **settings: Any) -> Window:
    trigger = settings.pop("trigger", EventTimeTrigger())
    return Window(assigner=assigner, trigger=trigger, key_selector=key, **settings)


class Count(AggregateFunction):
    def create_accumulator(self) -> int:
        return 0

    def add(self, value: Any, accumulator: int) -> int:
        return accumulator + 1

    def get_result(self, accumulator: int) -> str:
        return f"{accumulator} elements"

    def merge(self, acc_a: int, acc_b: int) -> int:
        return acc_a + acc_b


class Windows(WindowReaderFunction[Any, Any, str, Any]):
    def read_window(self, key: str, context: WindowReaderFunction.Context[Any], elements: Any) -> Iterator[Any]:
        yield key, context.window(), list(elements), context.registered_event_time_timers()


REDUCED = ReducingStateDescriptor(CONTENTS, add, PickledBytesTypeInfo())
LISTED = ListStateDescriptor(CONTENTS, PickledBytesTypeInfo())


def test_reduced_windows(tmp_path: Path) -> None:
    operation = window(TumblingEventTimeWindows.of(Time.seconds(1)), reduce=add)
    savepoint = savepoint_of(tmp_path, write_state(tmp_path, operation, VALUES, TIMES, key=key, parallelism=2))
    elements, names = read_all(keyed_pieces(savepoint, OPERATOR_ID), WindowReading(REDUCED, Windows()))
    assert sorted(elements, key=repr) == [
        ("a", TimeWindow(0, 1000), [("a", 3)], {999}),
        ("a", TimeWindow(1000, 2000), [("a", 10)], {1999}),
        ("b", TimeWindow(0, 1000), [("b", 5)], {999}),
    ]
    assert names.wanted == {CONTENTS}


def test_sliding_windows_with_all_elements(tmp_path: Path) -> None:
    operation = window(SlidingEventTimeWindows.of(Time.seconds(2), Time.seconds(1)))
    savepoint = savepoint_of(tmp_path, write_state(tmp_path, operation, VALUES, TIMES, key=key))
    elements, _ = read_all(keyed_pieces(savepoint, OPERATOR_ID), WindowReading(LISTED, Windows()))
    of_a = {(each[1].start, each[1].end): each[2] for each in elements if each[0] == "a"}
    assert of_a == {
        (-1000, 1000): [("a", 1), ("a", 2)],
        (0, 2000): [("a", 1), ("a", 2), ("a", 10)],
        (1000, 3000): [("a", 10)],
    }


def test_accumulators_are_shown_as_their_results(tmp_path: Path) -> None:
    from funke.engine.state.descriptors import AggregatingStateDescriptor

    operation = window(TumblingEventTimeWindows.of(Time.seconds(1)), aggregate=Count())
    savepoint = savepoint_of(tmp_path, write_state(tmp_path, operation, VALUES, TIMES, key=key))
    contents = AggregatingStateDescriptor(CONTENTS, Count(), PickledBytesTypeInfo())
    elements, _ = read_all(keyed_pieces(savepoint, OPERATOR_ID), WindowReading(contents, PassThroughReader()))
    assert sorted(elements) == ["1 elements", "1 elements", "2 elements"]


def test_sessions_are_shown_as_they_have_grown(tmp_path: Path) -> None:
    operation = window(EventTimeSessionWindows.with_gap(Time.seconds(1)), reduce=add)
    savepoint = savepoint_of(tmp_path, write_state(tmp_path, operation, VALUES, TIMES, key=key))
    elements, _ = read_all(keyed_pieces(savepoint, OPERATOR_ID), WindowReading(REDUCED, Windows()))
    assert sorted(elements, key=repr) == [
        ("a", TimeWindow(100, 2500), [("a", 13)], {2499}),
        ("b", TimeWindow(200, 1200), [("b", 5)], {1199}),
    ]


def test_windows_with_an_evictor_are_combined_when_they_are_read(tmp_path: Path) -> None:
    assigner = TumblingEventTimeWindows.of(Time.seconds(1))
    operation = window(assigner, evictor=CountEvictor.of(5), reduce=add)
    savepoint = savepoint_of(tmp_path, write_state(tmp_path, operation, VALUES, TIMES, key=key))
    reading = WindowReading(LISTED, PassThroughReader(), reducing(add))
    elements, _ = read_all(keyed_pieces(savepoint, OPERATOR_ID), reading)
    assert sorted(elements) == [("a", 3), ("a", 10), ("b", 5)]


class TriggerState(WindowReaderFunction[Any, Any, str, Any]):
    def read_window(self, key: str, context: WindowReaderFunction.Context[Any], elements: Any) -> Iterator[Any]:
        counted: Any = context.trigger_state(ReducingStateDescriptor("count", lambda a, b: a + b, Types.LONG()))
        yield key, counted.get(), len(list(elements))


def test_the_state_of_a_trigger(tmp_path: Path) -> None:
    operation = window(GlobalWindows.create(), trigger=CountTrigger.of(100))
    savepoint = savepoint_of(tmp_path, write_state(tmp_path, operation, VALUES, TIMES, key=key))
    elements, _ = read_all(keyed_pieces(savepoint, OPERATOR_ID), WindowReading(LISTED, TriggerState()))
    assert sorted(elements) == [("a", 3, 3), ("b", 1, 1)]


def test_reading_windows_in_the_wrong_way_is_rejected(tmp_path: Path) -> None:
    operation = window(TumblingEventTimeWindows.of(Time.seconds(1)), reduce=add)
    savepoint = savepoint_of(tmp_path, write_state(tmp_path, operation, VALUES, TIMES, key=key))
    with pytest.raises(StateError, match=r"keep a reduced value, and not all elements: read them with reduce\(\)"):
        read_all(keyed_pieces(savepoint, OPERATOR_ID), WindowReading(LISTED, Windows()))


def test_windows_are_rows_of_the_table_with_their_timers(tmp_path: Path) -> None:
    operation = window(TumblingEventTimeWindows.of(Time.seconds(1)), reduce=add)
    savepoint = savepoint_of(tmp_path, write_state(tmp_path, operation, [("a", 1)], [100], key=key))
    table = StateTable({OPERATOR_ID: ("Operator", UID)})
    rows = [row for piece in keyed_pieces(savepoint, OPERATOR_ID) for row in table.rows(piece)]
    kept = {(row[3], row[2], row[4], row[6], row[7]) for row in rows}
    text = str(TimeWindow(0, 1000))
    assert kept == {("reducing", CONTENTS, text, "a", '["a", 1]'), ("event-timer", None, text, "a", "999")}


def test_a_job_goes_on_with_bootstrapped_windows(tmp_path: Path) -> None:
    import pickle

    from funke.engine.state_processor.state_parts import read_chunks

    operation = window(TumblingEventTimeWindows.of(Time.seconds(1)), reduce=add)
    savepoint = savepoint_of(tmp_path, write_state(tmp_path, operation, VALUES, TIMES, key=key))
    parts = [part for piece in keyed_pieces(savepoint, OPERATOR_ID) for part in read_chunks(piece)]
    snapshot = pickle.dumps((parts, None, 0, 1))
    harness = OperatorHarness(operation, max_parallelism=16, restored=[snapshot])
    harness.process(("a", 100), 500)
    harness.watermark(5000)
    assert sorted(harness.outputs()) == [("a", 10), ("a", 103), ("b", 5)]
