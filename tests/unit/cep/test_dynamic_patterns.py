"""Patterns that come with a stream, and change while the job runs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from funke.cep import CEP, AfterMatchSkipStrategy, Pattern, PatternProcessFunction, TimedOutPartialMatchHandler
from funke.common import Row, Time, Types
from funke.datastream import OutputTag, StreamExecutionEnvironment
from funke.engine.errors import MalformedPatternError, UnsupportedFeatureError
from funke.engine.operators.patterns.conditions import OfColumns
from funke.engine.operators.patterns.pattern import Pattern as EnginePattern
from funke.engine.operators.patterns.pattern import with_conditions
from funke.engine.operators.patterns.pattern_json import from_plain, to_plain
from tests.harness.operator_harness import OperatorHarness
from tests.unit.operators.patterns.test_brute_force import patterns

PAYMENT = Types.ROW_NAMED(["card", "amount"], [Types.STRING(), Types.LONG()])
LATE, REJECTED = OutputTag("late"), OutputTag("rejected")
EVENTS, DEFINITIONS = 0, 1


class Amounts(PatternProcessFunction, TimedOutPartialMatchHandler):
    def process_match(self, match: Mapping[str, list[Any]], ctx: PatternProcessFunction.Context) -> Iterator[str]:
        yield f"{ctx.pattern_id()} {ctx.pattern_version()}: {text(match)}"

    def process_timed_out_match(
        self, match: Mapping[str, list[Any]], ctx: PatternProcessFunction.Context
    ) -> Iterator[str]:
        yield f"{ctx.pattern_id()} {ctx.pattern_version()}: {text(match)} until {ctx.timestamp()}"


def text(match: Mapping[str, list[Any]]) -> str:
    return " ".join(f"{name} {','.join(str(each.amount) for each in events)}" for name, events in match.items())


def harness(**settings: Any) -> OperatorHarness:
    env = StreamExecutionEnvironment.get_execution_environment()
    payments = env.from_collection([Row("a", 1)], type_info=PAYMENT).key_by(lambda payment: payment.card)
    stream = CEP.dynamic_patterns(payments, env.from_collection([""], Types.STRING()))
    if settings.pop("has_sides", True):
        stream = stream.side_output_late_data(LATE).side_output_rejected_definitions(REJECTED)
    matches = stream.process(Amounts())
    assert matches._node is not None
    return OperatorHarness(matches._node.operation, side_outputs=(LATE, REJECTED), **settings)


def small_then_large(small: int) -> Pattern:
    pattern = Pattern.begin("small", AfterMatchSkipStrategy.skip_past_last_event()).where(f"amount < {small}")
    return pattern.followed_by("large").where("amount > 500").within(Time.milliseconds(100))


def definition(version: int, pattern: Pattern | None, from_ms: int | None = None, name: str = "fraud") -> str:
    text = None if pattern is None else pattern.to_json()
    return json.dumps({"id": name, "version": version, "from": from_ms, "pattern": text})


def feed(job: OperatorHarness, *events: tuple[str, int, int]) -> None:
    for card, amount, time in events:
        job.process(Row(card=card, amount=amount), time)


def restarted(job: OperatorHarness) -> OperatorHarness:
    return harness(restored=[job.snapshot()])


@pytest.mark.parametrize("restarts", [False, True])
def test_a_new_version_is_in_force_from_its_event_time_on(restarts: bool) -> None:
    job = harness()
    job.process(definition(1, small_then_large(1)), input_index=DEFINITIONS)
    feed(job, ("a", 0, 10), ("a", 600, 15), ("b", 5, 18))
    job.watermark(18)
    job.process(definition(2, small_then_large(10), from_ms=20), input_index=DEFINITIONS)
    if restarts:
        outputs, job = job.outputs(), restarted(job)
        job.watermark(18)
        assert outputs == ["fraud 1: small 0 large 600"]
    # At 19 the first version is in force, which ends with its partial matches.
    feed(job, ("b", 700, 22), ("c", 0, 19), ("c", 800, 21), ("d", 9, 20), ("d", 900, 23))
    if restarts:
        job = restarted(job)
    job.watermark(30)
    assert job.outputs()[0 if restarts else 1 :] == ["fraud 2: small 9 large 900"]


def test_patterns_come_and_go() -> None:
    job = harness()
    feed(job, ("a", 0, 1), ("a", 600, 2))
    job.watermark(5)
    assert job.outputs() == []
    job.process(definition(1, small_then_large(1)), input_index=DEFINITIONS)
    job.process(definition(1, small_then_large(3), name="other"), input_index=DEFINITIONS)
    feed(job, ("a", 0, 10), ("a", 2, 11), ("a", 600, 12))
    job.watermark(12)
    assert job.outputs() == ["fraud 1: small 0 large 600", "other 1: small 0 large 600"]
    feed(job, ("a", 0, 20))
    job.watermark(20)
    job.process(definition(2, None, name="other"), input_index=DEFINITIONS)
    feed(job, ("a", 600, 21))
    job.watermark(21)
    assert job.outputs() == ["fraud 1: small 0 large 600"]


def test_a_version_that_is_not_newer_changes_nothing() -> None:
    job = harness()
    job.process(definition(2, small_then_large(1)), input_index=DEFINITIONS)
    feed(job, ("a", 0, 1))
    job.watermark(1)
    for version in (1, 2):
        job.process(definition(version, small_then_large(10)), input_index=DEFINITIONS)
    feed(job, ("a", 600, 2))
    job.watermark(2)
    assert job.outputs() == ["fraud 2: small 0 large 600"]


def test_partial_matches_end_with_their_time_and_leave_no_state() -> None:
    job = harness()
    job.process(definition(1, small_then_large(10)), input_index=DEFINITIONS)
    feed(job, ("a", 0, 1), ("b", 1, 50), ("c", 2, 60))
    job.watermark(101)
    assert job.outputs() == ["fraud 1: small 0 until 101"]
    job.process(definition(2, None), input_index=DEFINITIONS)
    job.watermark(1000)
    assert job.outputs() == []
    operator: Any = job.operator
    assert operator.backend.snapshot() == {}


def test_late_events_and_wrong_definitions_go_to_side_outputs() -> None:
    job = harness()
    job.watermark(10)
    feed(job, ("a", 1, 10))
    assert job.side_output(LATE) == [Row(card="a", amount=1)]
    wrong = [
        "no JSON",
        definition(1, Pattern.begin("a").where("amount > 0")),
        definition(1, Pattern.begin("a").where("price > 0").within(Time.seconds(1))),
        '{"id": "a", "version": 1}',
        '{"id": "a", "version": 1, "pattern": {"parts": [{"nam": "a"}], "within": 1}}',
        '{"id": "a", "version": 1, "pattern": {"parts": [{"name": "a", "times": 0}], "within": 1}}',
        '{"id": "a", "version": 1, "pattern": {"parts": [{"name": "a"}], "within": 1, "skip": "skip to first"}}',
    ]
    job.process_batch(wrong, input_index=DEFINITIONS)
    assert job.side_output(REJECTED) == wrong
    with pytest.raises(MalformedPatternError, match="Column 'price' not found"):
        harness(has_sides=False).process(wrong[2], input_index=DEFINITIONS)


def test_functions_have_no_json() -> None:
    with pytest.raises(UnsupportedFeatureError, match="an expression over columns"):
        Pattern.begin("a").where(lambda event: True).to_json()


@settings(max_examples=100, deadline=None)
@given(patterns(), some.integers(0, 3))
def test_json_says_everything_about_a_pattern(pattern: EnginePattern, number: int) -> None:
    strings = iter(range(100))
    pattern = with_conditions(pattern, lambda condition: OfColumns(f"amount > {next(strings)}", None))
    plain = json.loads(json.dumps(to_plain(pattern)))
    assert from_plain(plain, lambda text: OfColumns(text, None)).text == pattern.text
