"""Random patterns over random events: the automaton finds what trying every choice finds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from funke.engine.graph.operations import ColumnOperator, MatchPattern
from funke.engine.operators.functions.pattern_functions import PatternProcessFunction
from funke.engine.operators.patterns.conditions import AllOf, AnyOf, Condition, OfColumns, OfEvent, OfMatch
from funke.engine.operators.patterns.pattern import (
    Alternatives,
    Contiguity,
    Element,
    Group,
    Pattern,
    Quantifier,
    Skip,
    SkipKind,
    Stage,
    with_conditions,
)
from funke.engine.operators.patterns.runs import STATE, KeyRuns
from funke.engine.sql.operators.match_columns import MatchColumns
from funke.engine.sql.operators.stream_conditions import with_bound_conditions
from funke.engine.sql.parsing import parse_expression
from funke.engine.types import TupleTypeInfo, Types
from funke.engine.types.columns.form_change import RowsToColumns
from tests.harness.operator_harness import OperatorHarness
from tests.unit.operators.patterns.brute_force import all_matches, is_selection

STRICT, RELAXED, ANY = Contiguity.STRICT, Contiguity.RELAXED, Contiguity.RELAXED_ANY
ONCE = Quantifier()


class Matches(PatternProcessFunction):
    def process_match(
        self, match: Mapping[str, list[Any]], ctx: PatternProcessFunction.Context
    ) -> Iterator[tuple[tuple[str, int], ...]]:
        # An event is (label, its index in the order of time); a stage of several events is one entry of the match.
        yield tuple(
            sorted(((name, event[1]) for name, events in match.items() for event in events), key=lambda e: e[1])
        )


@dataclass(frozen=True)
class OneOf:
    labels: str

    def __call__(self, event: Any, match: Any = None) -> bool:
        return event[0] in self.labels


def condition(labels: str, is_iterative: bool) -> Condition:
    return OfMatch(OneOf(labels)) if is_iterative else OfEvent(OneOf(labels))


def conditions(*labels: str) -> some.SearchStrategy[Condition]:
    return some.builds(condition, some.sampled_from(labels), some.booleans())


CONDITIONS = conditions("a", "b", "c", "ab", "bc")
# As in Flink, an event that completes a match does so although it is also one that must not come: not for the model.
WANTED, UNWANTED = conditions("a", "b", "ab"), conditions("c", "x", "cx")
CONTIGUITIES = some.sampled_from([STRICT, RELAXED, ANY])


@some.composite
def quantifiers(draw: some.DrawFn, may_be_optional: bool = True) -> Quantifier:
    least, most = draw(some.sampled_from([(1, 1), (1, None), (2, 2), (1, 2), (2, None)]))
    inner = draw(CONTIGUITIES)
    is_greedy = (least, most) != (1, 1) and inner is not ANY and draw(some.booleans())
    return Quantifier(least, most, may_be_optional and draw(some.booleans()), is_greedy, inner)


@some.composite
def stages(
    draw: some.DrawFn, name: str, may_be_optional: bool = True, condition_kinds: Any = CONDITIONS, strict: bool = False
) -> Stage:
    contiguity = STRICT if strict else draw(CONTIGUITIES)
    return Stage(name, draw(condition_kinds), contiguity, draw(quantifiers(may_be_optional)))


def _with_known_greed(elements: Iterable[Element]) -> list[Element]:
    """A greedy loop also changes the ways on of the element behind it, which the model knows for single ones alone."""
    elements_of_model: list[Element] = []
    following: Element | None = None
    for each in reversed(list(elements)):
        if isinstance(each, Alternatives):
            each = replace(each, branches=tuple(tuple(_with_known_greed(branch)) for branch in each.branches))
        if each.quantifier.is_greedy and following is not None and not _is_single(following):
            each = replace(each, quantifier=replace(each.quantifier, is_greedy=False))
        following = each
        elements_of_model.insert(0, each)
    return elements_of_model


def _is_single(element: Element) -> bool:
    heads = [branch[0] for branch in element.branches] if isinstance(element, Alternatives) else []
    return element.quantifier == ONCE and all(map(_is_single, heads))


@some.composite
def patterns(draw: some.DrawFn) -> Pattern:
    elements: list[Element] = [draw(stages("1"))]
    kind = draw(some.sampled_from(["stages", "not", "group", "last not", "alternatives", "sequences", "any order"]))
    if kind == "stages":
        elements.append(draw(stages("2")))
        elements.append(Stage("3", draw(CONDITIONS), draw(CONTIGUITIES)))
    elif kind == "not":
        elements = [Stage("1", draw(CONDITIONS), STRICT)]
        not_kind = draw(some.sampled_from([Contiguity.NOT_NEXT, Contiguity.NOT_FOLLOWED_BY]))
        elements += [Stage("not", draw(UNWANTED), not_kind), draw(stages("2", False, WANTED))]
    elif kind == "group":
        inner = (Stage("2", draw(CONDITIONS)), Stage("3", draw(CONDITIONS), draw(CONTIGUITIES)))
        least, most = draw(some.sampled_from([(1, 1), (1, None), (2, 2), (1, 2)]))
        quantifier = Quantifier(least, most, draw(some.booleans()), False, draw(CONTIGUITIES))
        elements = [Stage("1", draw(CONDITIONS)), Group(inner, draw(CONTIGUITIES), quantifier)]
        if draw(some.booleans()):
            elements.append(Stage("4", draw(CONDITIONS), draw(CONTIGUITIES)))
    elif kind == "alternatives":
        branches = tuple((Stage(name, draw(CONDITIONS)),) for name in draw(some.sampled_from(["23", "234"])))
        elements.append(Alternatives(branches, draw(CONTIGUITIES), draw(quantifiers())))
        elements = draw(some.sampled_from([elements, elements[1:]]))
        elements.append(Stage("5", draw(CONDITIONS), draw(CONTIGUITIES)))
    elif kind == "sequences":
        first = (Stage("2", draw(CONDITIONS)), draw(stages("3")))
        elements.append(Alternatives((first, (draw(stages("4", False, strict=True)),))))
        elements.append(Stage("5", draw(CONDITIONS), draw(CONTIGUITIES)))
    elif kind == "any order":
        a, b, c = (Stage(name, draw(CONDITIONS), STRICT, draw(quantifiers(False))) for name in "234")
        pairs = [(each, Alternatives(((one, other), (other, one)))) for each, one, other in ((a, b, c), (b, a, c))]
        elements.append(Alternatives((*pairs, (c, Alternatives(((a, b), (b, a)))))))
        elements.append(Stage("5", draw(CONDITIONS), draw(CONTIGUITIES)))
    else:
        not_kind = draw(some.sampled_from([Contiguity.NOT_NEXT, Contiguity.NOT_FOLLOWED_BY]))
        elements = [Stage("1", draw(CONDITIONS)), Stage("2", draw(CONDITIONS), draw(CONTIGUITIES))]
        elements.append(Stage("not", draw(UNWANTED), not_kind))
    elements = _with_known_greed(elements)
    needs_within = elements[-1].contiguity is Contiguity.NOT_FOLLOWED_BY
    within = draw(some.sampled_from([3, 6] if needs_within else [None, 3, 6]))
    return Pattern(tuple(elements), within)


@some.composite
def streams(draw: some.DrawFn) -> tuple[list[tuple[str, int]], list[int]]:
    labels = draw(some.lists(some.sampled_from("aabbcx"), max_size=9))
    gaps = [draw(some.integers(0, 2)) for _ in labels]
    return [(label, index) for index, label in enumerate(labels)], [sum(gaps[: n + 1]) for n in range(len(gaps))]


def found_in(pattern: Pattern, events: list[Any], times: list[int], arrival: list[int], cuts: set[int]) -> list[Any]:
    """What the operator finds if events come out of order, with watermarks and a restart between some of them."""
    operation = MatchPattern(pattern, Matches(), key_selector=lambda event: 0)
    harness = OperatorHarness(operation)
    outputs = []
    for done, index in enumerate(arrival):
        harness.process(events[index], times[index])
        if done in cuts:
            # Events at the time of the earliest one that is still to come are not complete.
            harness.watermark(min([times[each] for each in arrival[done + 1 :]] or [99]) - 1)
            outputs += harness.outputs()
            check_counts(harness)
            harness = OperatorHarness(operation, restored=[harness.snapshot()])
    harness.end_input()
    return outputs + harness.outputs()


def check_counts(harness: OperatorHarness) -> None:
    """What the operator says of partial matches is what its state has."""
    operator: Any = harness.operator
    runs = [run for stored in operator.runs.table.values() for run in KeyRuns.of(stored).runs]
    counts = Counter(run[STATE] for run in runs)
    assert {state: count for state, count in enumerate(operator.matcher.waiting) if count} == counts


ROWS = TupleTypeInfo([Types.STRING(), Types.LONG()])
COLUMNS = RowsToColumns(ROWS)


def found_in_columns(pattern: Pattern, events: list[Any], times: list[int], cuts: set[int], key: Any) -> list[Any]:
    """What the operator for columns finds, with watermarks and a restart between some batches."""
    operation = ColumnOperator(MatchColumns(pattern, Matches(), key, ROWS))
    harness = OperatorHarness(operation)
    outputs = []
    start = 0
    for end in sorted({*(cut + 1 for cut in cuts if cut < len(events)), len(events)}):
        if end > start:
            harness.operator.process_columns(COLUMNS.convert(events[start:end], times[start:end]))
            harness.watermark(min([*times[end:], 99]) - 1)
            outputs += harness.outputs()
            check_counts(harness)
            harness = OperatorHarness(operation, restored=[harness.snapshot()])
        start = end
    harness.end_input()
    return outputs + harness.outputs()


def arrivals(times: list[int]) -> some.SearchStrategy[list[int]]:
    # Events at the same time keep their order, which is that in which they come.
    ranks = sorted(set(times))
    return some.permutations(ranks).map(
        lambda order: [index for time in order for index, each in enumerate(times) if each == time]
    )


@settings(max_examples=300, deadline=None)
@given(patterns(), streams(), some.data())
def test_all_matches_are_found(pattern: Pattern, stream: Any, data: some.DataObject) -> None:
    events, times = stream
    arrival = data.draw(arrivals(times))
    cuts = data.draw(some.sets(some.integers(0, 8), max_size=2))
    expected = Counter(each.events for each in all_matches(pattern, events, times))
    assert Counter(found_in(pattern, events, times, arrival, cuts)) == expected


@settings(max_examples=150, deadline=None)
@given(patterns(), streams(), some.sets(some.integers(0, 8), max_size=2), some.data())
def test_conditions_over_columns_are_those_of_events(
    pattern: Pattern, stream: Any, cuts: set[int], data: some.DataObject
) -> None:
    def of_columns(own: Condition) -> Condition:
        assert isinstance(own, (OfEvent, OfMatch))
        labels = own.function.labels  # type: ignore[attr-defined]
        text = f"f0 IN ({', '.join(map(repr, labels))})"
        mask = OfColumns(text, parse_expression(text))
        return data.draw(some.sampled_from([mask, mask, AllOf((mask, own)), AnyOf((own, mask)), own]))

    events, times = stream
    bound = with_bound_conditions(with_conditions(pattern, of_columns), ROWS)
    key = data.draw(some.sampled_from([None, lambda event: 0]))
    expected = Counter(found_in(pattern, events, times, list(range(len(events))), set()))
    assert Counter(found_in_columns(bound, events, times, cuts, key)) == expected


@pytest.mark.parametrize("kind", [SkipKind.TO_NEXT, SkipKind.PAST_LAST, SkipKind.TO_FIRST, SkipKind.TO_LAST])
@settings(max_examples=60, deadline=None)
@given(patterns(), streams(), some.data())
def test_what_is_skipped(kind: SkipKind, pattern: Pattern, stream: Any, data: some.DataObject) -> None:
    events, times = stream
    stage = "2" if kind in (SkipKind.TO_FIRST, SkipKind.TO_LAST) and "2" in pattern.names else ""
    skip = Skip(kind, stage or "1" if kind in (SkipKind.TO_FIRST, SkipKind.TO_LAST) else "")
    # With an end of all waiting, every match comes in the end.
    pattern = Pattern(pattern.elements, pattern.within_ms or 100, skip)
    arrival = data.draw(arrivals(times))
    outputs = found_in(pattern, events, times, arrival, set())
    assert is_selection(pattern, all_matches(pattern, events, times), outputs)
