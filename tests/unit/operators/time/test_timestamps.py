"""Timestamps and watermarks: strategies, the periodic clock, idleness, the user's own generators."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from funke.engine.graph.operations import AssignTimestamps
from funke.engine.operators.operator import MAX_WATERMARK, Output, TaskInfo
from funke.engine.operators.time.clock import ManualClock
from funke.engine.operators.time.timestamps import SplitWatermarks
from funke.engine.types import TimestampAssigner, WatermarkGenerator, WatermarkOutput, WatermarkSpec
from funke.engine.types.operator_location import OperatorLocation
from funke.engine.types.watermark_spec import NO_TIMESTAMP
from tests.harness.operator_harness import OperatorHarness, Record, Recorder, Status, Watermark
from tests.harness.stream_table import check_stream_table


class FirstField(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value[0])


def spec(kind: str, **options: Any) -> WatermarkSpec:
    return WatermarkSpec(kind=kind, timestamp_assigner=FirstField(), **options)  # type: ignore[arg-type]


def harness_for(strategy: WatermarkSpec, **options: Any) -> OperatorHarness:
    return OperatorHarness(AssignTimestamps(strategy), **options)


def test_monotonous_timestamps_lag_by_one_millisecond() -> None:
    check_stream_table(
        harness_for(spec("monotonous")),
        """
        (100,)   | (100,) @ 100
        (200,)   | (200,) @ 200
        epoch    | watermark 199
        epoch    |
        end      | watermark max
        """,
    )


def test_bounded_out_of_orderness() -> None:
    check_stream_table(
        harness_for(spec("bounded", out_of_orderness_ms=50)),
        """
        (100,)   | (100,) @ 100
        (90,)    | (90,) @ 90
        epoch    | watermark 49
        (80,)    | (80,) @ 80
        epoch    |
        (500,)   | (500,) @ 500
        epoch    | watermark 449
        """,
    )


def test_watermarks_come_with_the_clock_and_not_with_every_record() -> None:
    check_stream_table(
        harness_for(spec("monotonous")),
        """
        (5,)      | (5,) @ 5
        (9,)      | (9,) @ 9
        (4,)      | (4,) @ 4
        time 199  |
        (10,)     | (10,) @ 10
        time 200  |
        (11,)     | (11,) @ 11; watermark 10
        (12,)     | (12,) @ 12
        time 400  |
        (13,)     | (13,) @ 13; watermark 12
        """,
    )


def test_a_batch_is_not_cut_by_the_clock() -> None:
    harness = harness_for(spec("monotonous"))
    harness.process((1,))
    harness.clock.set(1000)
    harness.process_batch([(5,), (3,), (7,)])
    assert harness.elements() == [
        Record((1,), 1),
        Record((5,), 5),
        Record((3,), 3),
        Record((7,), 7),
        Watermark(6),
    ]


def test_without_watermarks_only_timestamps_are_set() -> None:
    check_stream_table(
        harness_for(spec("none")),
        """
        (5,)     | (5,) @ 5
        epoch    |
        end      | watermark max
        """,
    )


def test_without_an_assigner_records_keep_their_timestamps() -> None:
    check_stream_table(
        harness_for(WatermarkSpec(kind="monotonous")),
        """
        'a' @ 7  | 'a' @ 7
        epoch    | watermark 6
        'b'      | 'b'
        epoch    |
        """,
    )


def test_the_assigner_sees_the_timestamp_that_a_record_has() -> None:
    class Shifting(TimestampAssigner):
        def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
            return -1 if record_timestamp == NO_TIMESTAMP else record_timestamp + value

    check_stream_table(
        harness_for(WatermarkSpec(kind="none", timestamp_assigner=Shifting())),
        """
        5 @ 100  | 5 @ 105
        5        | 5 @ -1
        """,
    )


def test_a_timestamp_that_is_no_integer_is_rejected() -> None:
    class Seconds(TimestampAssigner):
        def extract_timestamp(self, value: Any, record_timestamp: int) -> Any:
            return value / 2

    with pytest.raises(TypeError, match="milliseconds as an int, but it returned a float"):
        harness_for(WatermarkSpec(kind="none", timestamp_assigner=Seconds())).process(5)


def test_watermarks_and_idleness_from_upstream_are_ignored_except_the_last() -> None:
    check_stream_table(
        harness_for(spec("monotonous")),
        """
        watermark 500  |
        idle           |
        (100,)         | (100,) @ 100
        watermark 600  |
        watermark max  | watermark max
        """,
    )


def test_in_batch_mode_there_is_no_watermark_before_the_end() -> None:
    check_stream_table(
        harness_for(spec("monotonous"), is_batch=True),
        """
        (100,)    | (100,) @ 100
        time 900  |
        (200,)    | (200,) @ 200
        epoch     |
        end       | watermark max
        """,
    )


def test_an_input_without_records_falls_idle_and_comes_back() -> None:
    check_stream_table(
        harness_for(spec("monotonous", idle_timeout_ms=1000)),
        """
        (100,)     | (100,) @ 100
        epoch      | watermark 99
        time 999   |
        time 1000  | idle
        time 5000  |
        (101,)     | active; (101,) @ 101; watermark 100
        time 6000  | idle
        """,
    )


def test_an_input_that_never_had_a_record_falls_idle() -> None:
    harness = harness_for(spec("monotonous", idle_timeout_ms=1000))
    assert harness.operator.next_wakeup_ms() == 1000
    harness.set_processing_time(1000)
    assert harness.elements() == [Status(True)]


class Punctuated(WatermarkGenerator):
    """Emits at records with a mark, right there."""

    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        if event[1] == "mark":
            output.emit_watermark(event_timestamp)
        elif event[1] == "idle":
            output.mark_idle()
        elif event[1] == "active":
            output.mark_active()


class EveryTurn(WatermarkGenerator):
    """Counts its turns."""

    turns = 0

    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        pass

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        self.turns += 1
        output.emit_watermark(self.turns)


def test_a_punctuated_watermark_cuts_the_batch_where_it_is_emitted() -> None:
    harness = harness_for(spec("custom", generator_factory=Punctuated))
    harness.process_batch([(1, ""), (5, "mark"), (2, ""), (4, "mark"), (9, "mark"), (7, "")])
    assert harness.elements() == [
        Record((1, ""), 1),
        Record((5, "mark"), 5),
        Watermark(5),
        Record((2, ""), 2),
        # 4 is no progress.
        Record((4, "mark"), 4),
        Record((9, "mark"), 9),
        Watermark(9),
        Record((7, ""), 7),
    ]


def test_a_generator_can_mark_its_input_idle() -> None:
    check_stream_table(
        harness_for(spec("custom", generator_factory=Punctuated)),
        """
        (1, 'idle')    | (1, 'idle') @ 1; idle
        (2, 'idle')    | (2, 'idle') @ 2
        (3, 'active')  | (3, 'active') @ 3; active
        (4, 'idle')    | (4, 'idle') @ 4; idle
        (5, 'mark')    | (5, 'mark') @ 5; active; watermark 5
        """,
    )


def test_a_periodic_generator_gets_its_turns() -> None:
    harness = harness_for(spec("custom", generator_factory=EveryTurn))
    check_stream_table(
        harness,
        """
        (1,)      | (1,) @ 1
        time 199  |
        time 200  | watermark 1
        time 399  |
        time 450  | watermark 2
        epoch     | watermark 3
        """,
    )


def test_progress_can_be_taken_back_after_open() -> None:
    harness = harness_for(spec("monotonous"))
    harness.process((100,))
    harness.end_epoch()
    again = harness_for(spec("monotonous"))
    again.operator.restore(harness.operator.snapshot())
    again.process((90,))
    again.end_epoch()
    again.process((200,))
    again.end_epoch()
    assert again.elements()[2:] == [Watermark(199)]


def test_progress_survives_a_restart() -> None:
    harness = harness_for(spec("monotonous"))
    harness.process((100,))
    harness.end_epoch()
    again = harness_for(spec("monotonous"), restored=[harness.snapshot()])
    again.process((50,))
    again.end_epoch()
    assert again.elements() == [Record((50,), 50)]
    again.process((200,))
    again.end_epoch()
    assert again.elements() == [Record((200,), 200), Watermark(199)]


class Splits:
    """A source's watermarks with what they send."""

    def __init__(self, strategy: WatermarkSpec, state: bytes | None = None) -> None:
        self.clock = ManualClock()
        self.recorder = Recorder()
        output = Output()
        output.connect(self.recorder, OperatorLocation("recorder"))
        self.marks = SplitWatermarks(strategy, TaskInfo(clock=self.clock), output)
        if state is not None:
            self.marks.restore(pickle.loads(state))

    def read(self, split_id: str, *times: int) -> None:
        self.marks.start_split(split_id)
        self.marks.process_batch([(time,) for time in times], None)

    def watermarks(self) -> list[int]:
        outputs, self.recorder.elements = self.recorder.elements, []
        return [element.timestamp for element in outputs if isinstance(element, Watermark)]


def test_the_slowest_split_holds_the_watermark_back() -> None:
    splits = Splits(spec("monotonous"))
    splits.marks.register("a")
    splits.marks.register("b")
    splits.read("a", 100, 200)
    splits.marks.end_epoch()
    assert splits.watermarks() == []
    splits.read("b", 150)
    splits.marks.end_epoch()
    assert splits.watermarks() == [149]
    splits.read("b", 300)
    splits.marks.end_epoch()
    assert splits.watermarks() == [199]


def test_a_split_that_has_ended_does_not_count_any_more() -> None:
    splits = Splits(spec("monotonous"))
    splits.read("a", 100)
    splits.read("b", 500)
    splits.marks.end_split("a")
    assert splits.watermarks() == []
    splits.marks.end_epoch()
    assert splits.watermarks() == [499]
    splits.marks.end_split("b")
    splits.marks.end_epoch()
    assert splits.watermarks() == []
    splits.marks.end_input()
    assert splits.watermarks() == [MAX_WATERMARK]


def test_files_that_are_read_one_after_the_other_leave_their_progress() -> None:
    splits = Splits(spec("monotonous"))
    for split_id, time in (("f1", 100), ("f2", 50)):
        splits.read(split_id, time)
        splits.marks.end_split(split_id)
    splits.marks.end_epoch()
    assert splits.watermarks() == [99]


def test_an_idle_split_does_not_hold_the_watermark_back() -> None:
    splits = Splits(spec("monotonous", idle_timeout_ms=1000))
    splits.marks.register("quiet")
    splits.read("busy", 100)
    splits.marks.end_epoch()
    assert splits.watermarks() == []
    splits.clock.set(1000)
    splits.read("busy", 200)
    splits.marks.end_epoch()
    assert splits.watermarks() == [199]
    splits.clock.set(9000)
    splits.marks.end_epoch()
    assert splits.recorder.elements == [Status(True)]
    splits.read("quiet", 50)
    assert splits.recorder.elements[1] == Status(False)


def test_progress_is_carried_from_epoch_to_epoch() -> None:
    splits = Splits(spec("bounded", out_of_orderness_ms=10))
    splits.read("a", 100)
    splits.read("b", 200)
    splits.marks.end_epoch()
    assert splits.watermarks() == [89]
    following = Splits(spec("bounded", out_of_orderness_ms=10), pickle.dumps(splits.marks.snapshot()))
    following.read("a", 95)
    following.marks.end_epoch()
    assert following.watermarks() == []
    following.read("a", 400)
    following.marks.end_epoch()
    assert following.watermarks() == [189]


def test_each_split_has_its_own_generator() -> None:
    splits = Splits(spec("custom", generator_factory=Punctuated))
    splits.marks.register("b")
    splits.marks.start_split("a")
    splits.marks.process_batch([(10, "mark")], None)
    assert splits.watermarks() == []
    splits.marks.start_split("b")
    splits.marks.process_batch([(3, ""), (7, "mark"), (9, "")], None)
    assert [type(element) for element in splits.recorder.elements] == [Record, Record, Watermark, Record]
    assert splits.watermarks() == [7]


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 1000), st.integers(0, 150)), max_size=40),
    st.sampled_from([0, 25]),
)
def test_a_watermark_never_goes_back_and_never_passes_a_split(
    events: list[tuple[str, int, int]], out_of_orderness_ms: int
) -> None:
    splits = Splits(spec("bounded", out_of_orderness_ms=out_of_orderness_ms))
    for split_id in "abc":
        splits.marks.register(split_id)
    highest = dict.fromkeys("abc", -(10**9))
    current = -(10**9)
    for split_id, time, delay in events:
        splits.clock.set(splits.clock.now_ms() + delay)
        splits.read(split_id, time)
        highest[split_id] = max(highest[split_id], time)
        for watermark in splits.watermarks():
            assert current < watermark <= min(highest.values()) - out_of_orderness_ms - 1
            current = watermark
    splits.marks.end_epoch()
    if min(highest.values()) >= 0:
        assert [current, *splits.watermarks()][-1] == min(highest.values()) - out_of_orderness_ms - 1
