"""The facade: what programs write, what it becomes, and what is rejected."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from funke.cep import (
    CEP,
    AfterMatchSkipStrategy,
    IterativeCondition,
    MalformedPatternException,
    Pattern,
    PatternProcessFunction,
    SimpleCondition,
    TimedOutPartialMatchHandler,
    WithinType,
)
from funke.common import Time, Types
from funke.datastream import OutputTag, StreamExecutionEnvironment
from funke.engine.errors import ConfigurationError, StateError, TypeMismatchError, UnsupportedFeatureError
from funke.engine.graph.operations import MatchPattern
from funke.engine.graph.state_meaning import meaning_of, moves_between
from tests.harness.backends import choice_of
from tests.harness.operator_harness import OperatorHarness
from tests.harness.stream_table import check_stream_table

LATE = OutputTag("late")
TIMED_OUT = OutputTag("timed_out", Types.STRING())


def letter(label: str) -> Any:
    return lambda event: event[0] == label


def text(match: Mapping[str, list[str]]) -> str:
    return " ".join(f"{name}:{','.join(events)}" for name, events in match.items())


def operation(stream: Any) -> MatchPattern:
    """What a stream with a pattern runs."""
    node = stream._node.operation
    assert isinstance(node, MatchPattern)
    return node


def stream() -> Any:
    return StreamExecutionEnvironment.get_execution_environment().from_collection(["a"])


def a_then_b() -> Pattern:
    return Pattern.begin("a").where(letter("a")).followed_by("b").where(letter("b")).within(Time.milliseconds(10))


class Selected(PatternProcessFunction, TimedOutPartialMatchHandler):
    def process_match(self, match: Mapping[str, list[Any]], ctx: PatternProcessFunction.Context) -> Iterator[str]:
        yield text(match)

    def process_timed_out_match(
        self, match: Mapping[str, list[Any]], ctx: PatternProcessFunction.Context
    ) -> Iterator[Any]:
        yield TIMED_OUT, f"{text(match)} until {ctx.timestamp()}"


def test_events_wait_for_the_watermark_and_late_ones_go_to_a_side_output() -> None:
    selected = CEP.pattern(stream().key_by(lambda event: 0), a_then_b()).side_output_late_data(LATE).process(Selected())
    check_stream_table(
        OperatorHarness(operation(selected), side_outputs=(LATE, TIMED_OUT)),
        """
        'b' @ 12      |
        'a' @ 10      |
        watermark 11  | watermark 11
        'a2' @ 11     | [late] 'a2' @ 11
        watermark 12  | 'a:a b:b' @ 12; watermark 12
        'a3' @ 20     |
        watermark 29  | watermark 29
        watermark 30  | watermark 30; [timed_out] 'a:a3 until 30' @ 30
        """,
    )


def test_by_the_clock_events_match_as_they_come() -> None:
    matches = CEP.pattern(stream().key_by(lambda event: event[-1]), a_then_b()).in_processing_time()
    check_stream_table(
        OperatorHarness(operation(matches.process(Selected())), side_outputs=(TIMED_OUT,)),
        """
        'a 1'    |
        'b 2'    |
        time 5   |
        'b 1'    | 'a:a 1 b:b 1'
        'a 3'    |
        time 14  |
        time 15  | [timed_out] 'a:a 3 until 15'
        """,
    )


def test_a_comparator_orders_events_at_the_same_time() -> None:
    by_length = CEP.pattern(stream().key_by(lambda event: 0), a_then_b(), lambda one, other: len(one) - len(other))
    harness = OperatorHarness(operation(by_length.select(text)))
    harness.process_batch(["b longest", "a"], [1, 1])
    harness.watermark(1)
    assert harness.outputs() == ["a:a b:b longest"]


def test_select_and_flat_select_with_timeouts() -> None:
    keyed = stream().key_by(lambda event: 0)
    one = CEP.pattern(keyed, a_then_b()).select(TIMED_OUT, lambda match, time: f"{text(match)} {time}", text)
    several = CEP.pattern(keyed, a_then_b()).flat_select(TIMED_OUT, lambda match, time: ["x", "y"], lambda match: "ab")
    for built, outputs, sides in ((one, ["a:a b:b"], ["a:a2 15"]), (several, ["a", "b"], ["x", "y"])):
        harness = OperatorHarness(operation(built), side_outputs=(TIMED_OUT,))
        for time, event in ((1, "a"), (2, "b"), (5, "a2")):
            harness.process(event, time)
        harness.end_input()
        assert harness.outputs() == outputs
        assert harness.side_output(TIMED_OUT) == sides


def test_conditions_see_the_events_before() -> None:
    class Rising(IterativeCondition):
        def filter(self, value: Any, ctx: IterativeCondition.Context) -> bool:
            before = ctx.get_events_for_pattern("rising") or ctx.get_events_for_pattern("start")
            return bool(value > before[-1])

    class Positive(SimpleCondition):
        def filter(self, value: Any) -> bool:
            return bool(value > 0)

    pattern = (
        Pattern.begin("start", AfterMatchSkipStrategy.skip_past_last_event())
        .where(Positive())
        .next("rising")
        .where(Rising())
        .one_or_more()
        .consecutive()
        .greedy()
        .next("end")
        .where(lambda value, ctx: value < ctx.get_events_for_pattern("rising")[-1])
    )
    harness = OperatorHarness(operation(CEP.pattern(stream().key_by(lambda event: 0), pattern).select(dict)))
    for time, value in enumerate([5, 3, 4, 6, 2, 1]):
        harness.process(value, time)
    harness.end_input()
    assert harness.outputs() == [{"start": [3], "rising": [4, 6], "end": [2]}]


def test_alternatives_and_classes() -> None:
    pattern = Pattern.begin("a").where(letter("a")).or_where(letter("b")).next("text").subtype(str).where(letter("c"))
    harness = OperatorHarness(operation(CEP.pattern(stream().key_by(lambda event: 0), pattern).select(text)))
    for time, event in enumerate(["a", "c1", "b", "c2", "d", "c3"]):
        harness.process(event, time)
    harness.end_input()
    assert harness.outputs() == ["a:a text:c1", "a:b text:c2"]


def test_the_time_between_two_events() -> None:
    pattern = Pattern.begin("a").where(letter("a")).followed_by("b").where(letter("b"))
    pattern = pattern.within(Time.milliseconds(5), WithinType.PREVIOUS_AND_CURRENT).followed_by("c").where(letter("c"))
    harness = OperatorHarness(operation(CEP.pattern(stream().key_by(lambda event: 0), pattern).select(text)))
    for event, time in (("a1", 0), ("b1", 4), ("c1", 90), ("a2", 100), ("b2", 105), ("c2", 106)):
        harness.process(event, time)
    harness.end_input()
    assert harness.outputs() == ["a:a1 b:b1 c:c1"]


def test_metrics_say_what_waits_and_which_condition_fails() -> None:
    harness = OperatorHarness(operation(CEP.pattern(stream().key_by(lambda event: event[-1]), a_then_b()).select(text)))
    for time, event in enumerate(["a1", "c1", "c1", "a2", "c2", "c3"]):
        harness.process(event, time)
    harness.watermark(6)

    def metrics() -> dict[str, Any]:
        metrics = harness.operator.metrics().items()
        return {name: value for name, value in metrics if name.startswith(("partial", "condition"))}

    assert metrics() == {
        "partialMatches.b": 2,
        "conditionChecks.a": 6,
        "conditionFailures.a": 4,
        "conditionChecks.b": 3,
        "conditionFailures.b": 3,
    }
    harness = OperatorHarness(
        operation(CEP.pattern(stream().key_by(lambda event: event[-1]), a_then_b()).select(text)),
        restored=[harness.snapshot()],
    )
    assert metrics()["partialMatches.b"] == 2
    harness.watermark(100)
    assert metrics()["partialMatches.b"] == 0


def test_without_keys_one_subtask_does_all() -> None:
    selected = CEP.pattern(stream(), a_then_b()).select(text)
    assert selected._node.parallelism == 1


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (lambda: Pattern.begin("a").not_followed_by("n"), MalformedPatternException, "without windowTime"),
        (lambda: Pattern.begin("a").next("a"), MalformedPatternException, "Duplicate pattern name"),
        (lambda: Pattern.begin("a").one_or_more().times(2), MalformedPatternException, "Already applied quantifier"),
        (lambda: Pattern.begin("a").not_next("n").optional(), MalformedPatternException, "NOT pattern"),
        (lambda: Pattern.begin("a").until(letter("b")), MalformedPatternException, "looping states"),
        (lambda: Pattern.begin("a").consecutive(), MalformedPatternException, "not applicable"),
        (lambda: Pattern.begin("a").optional().not_next("n"), UnsupportedFeatureError, "optional path to NOT"),
        (lambda: Pattern.begin(Pattern.begin("a")).where(letter("a")), UnsupportedFeatureError, "where clause"),
        (lambda: Pattern.begin("a").times(0), ConfigurationError, "greater than 0"),
        (lambda: Pattern.begin("a").where(3), TypeError, "needs a function"),
        (lambda: Pattern.begin("a").where("a"), TypeMismatchError, "need rows or tuples with a declared type"),
        (
            lambda: Pattern.begin("a", AfterMatchSkipStrategy.skip_to_last("z")),
            MalformedPatternException,
            "is none of a",
        ),
        (
            lambda: Pattern.begin(Pattern.begin("a").optional()),
            UnsupportedFeatureError,
            "begins with an optional one",
        ),
    ],
)
def test_what_is_rejected(build: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        CEP.pattern(stream(), build())


def test_the_meaning_of_state_is_the_pattern() -> None:
    def meaning(pattern: Pattern) -> Any:
        meaning = meaning_of(operation(CEP.pattern(stream().key_by(lambda event: 0), pattern).select(text)))
        assert meaning is not None
        return meaning

    before = meaning(a_then_b())
    assert moves_between(before, meaning(a_then_b())) == {}
    for changed in (a_then_b().one_or_more(), a_then_b().within(Time.milliseconds(9)), a_then_b().next("c")):
        with pytest.raises(StateError, match="it was written with the pattern next 'a' where"):
            moves_between(before, meaning(changed))


@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
def test_partial_matches_are_kept_between_attempts_and_forgotten_when_their_time_is_over(backend: str) -> None:
    node = operation(CEP.pattern(stream().key_by(lambda event: event[-1]), a_then_b()).select(text))
    harness = OperatorHarness(node, backend=choice_of(backend))
    for key in "123":
        harness.process(f"a{key}", 1)
    harness.process("b3", 20)
    harness.watermark(5)
    snapshot = harness.snapshot()
    halves = [
        OperatorHarness(node, parallelism=2, subtask=subtask, restored=[snapshot], backend=choice_of(backend))
        for subtask in range(2)
    ]
    results = []
    for half in halves:
        # Each event goes to the subtask of its key.
        for key in "123":
            if half.task.key_groups.of(key) * 2 // 128 == half.task.subtask:
                half.process(f"b{key}", 9 if key == "1" else 11)
        half.watermark(30)
        results += half.outputs()
        assert half.operator.backend.snapshot() == {}
    assert results == ["a:a1 b:b1"]


def test_partial_matches_of_earlier_savepoints_go_on() -> None:
    # What a state had for a run with one event: its number and two empty entries beside what there is now.
    node = operation(CEP.pattern(stream().key_by(lambda event: 0), a_then_b()).select(text))
    harness = OperatorHarness(node)
    harness.process("a", 1)
    harness.watermark(1)
    operator: Any = harness.operator
    ((key, stored),) = operator.runs.table.items()
    assert stored[2:] == ("a", 1)
    operator.runs.table[key] = (*stored, 7, None, None)
    harness = OperatorHarness(node, restored=[harness.snapshot()])
    harness.process("b", 2)
    harness.end_input()
    assert harness.outputs() == ["a:a b:b"]
