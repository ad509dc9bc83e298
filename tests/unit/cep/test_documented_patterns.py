"""What Flink documents of patterns: streams of letters, and the matches in them."""

from __future__ import annotations

import pytest

from funke.cep import AfterMatchSkipStrategy, Pattern
from funke.cep.functions import Selecting
from funke.common import Time
from funke.engine.graph.operations import MatchPattern
from tests.harness.operator_harness import OperatorHarness

Skip = AfterMatchSkipStrategy


def begin(letter: str, skip: AfterMatchSkipStrategy | None = None) -> Pattern:
    return Pattern.begin(letter, skip).where(lambda event: event[0] in letter)


def next_(pattern: Pattern, letter: str) -> Pattern:
    return pattern.next(letter).where(lambda event: event[0] in letter)


def then(pattern: Pattern, letter: str) -> Pattern:
    return pattern.followed_by(letter).where(lambda event: event[0] in letter)


def then_any(pattern: Pattern, letter: str) -> Pattern:
    return pattern.followed_by_any(letter).where(lambda event: event[0] in letter)


def c_a_b(pattern: Pattern) -> Pattern:
    return then(pattern, "b")


def skipping(skip: AfterMatchSkipStrategy) -> Pattern:
    return next_(begin("b", skip).one_or_more(), "c")


def skipping_to_first(skip: AfterMatchSkipStrategy) -> Pattern:
    pattern = next_(begin("abc", skip), "bc").next("c*").where(lambda event: event[0] == "c")
    return next_(pattern.one_or_more().greedy(), "d")


LOOP = "c d a1 a2 a3 d a4 b"
CASES = {
    "strict": (next_(begin("a"), "b"), "a c b1 b2", ""),
    "relaxed": (then(begin("a"), "b"), "a c b1 b2", "a b1"),
    "relaxed, any": (then_any(begin("a"), "b"), "a c b1 b2", "a b1, a b2"),
    "a loop": (
        c_a_b(then(begin("c"), "a").one_or_more()),
        LOOP,
        "c a1 b, c a1 a2 b, c a1 a2 a3 b, c a1 a2 a3 a4 b",
    ),
    "consecutive": (
        c_a_b(then(begin("c"), "a").one_or_more().consecutive()),
        LOOP,
        "c a1 b, c a1 a2 b, c a1 a2 a3 b",
    ),
    "combinations": (
        c_a_b(then(begin("c"), "a").one_or_more().allow_combinations()),
        LOOP,
        "c a1 b, c a1 a2 b, c a1 a3 b, c a1 a4 b, c a1 a2 a3 b, c a1 a2 a4 b, c a1 a3 a4 b, c a1 a2 a3 a4 b",
    ),
    "greedy": (then(begin("a").times_or_more(2).greedy(), "b"), "a1 a2 a3 b", "a1 a2 a3 b, a2 a3 b"),
    "times": (then(begin("a").times(2), "b"), "a1 a2 a3 b", "a1 a2 b, a2 a3 b"),
    "between": (then(begin("a").times(1, 2), "b"), "a1 a2 b", "a1 b, a1 a2 b, a2 b"),
    "optional": (then(then(begin("a"), "b").optional(), "c"), "a b c", "a b c, a c"),
    "zero or more": (then(then(begin("a"), "b").one_or_more().optional(), "c"), "a c", "a c"),
    "until": (
        then(then(begin("a"), "b").one_or_more().until(lambda event: event[0] == "x"), "c"),
        "a b1 x b2 c",
        "a b1 c",
    ),
    "not next": (then(begin("a").not_next("n").where(lambda event: event[0] == "n"), "b"), "a n b a x b2", "a b2"),
    "not followed by": (
        then(begin("a").not_followed_by("n").where(lambda event: event[0] == "n"), "b"),
        "a x n b a x b2",
        "a b2",
    ),
    "a group": (
        then(begin("c").followed_by(then(begin("a"), "b")).one_or_more(), "d"),
        "c a1 b1 x a2 b2 d",
        # By the names of the parts.
        "c a1 b1 d, c a1 a2 b1 b2 d",
    ),
    "no skip": (skipping(Skip.no_skip()), "b1 b2 b3 c", "b1 b2 b3 c, b2 b3 c, b3 c"),
    "skip to next": (skipping(Skip.skip_to_next()), "b1 b2 b3 c", "b1 b2 b3 c, b2 b3 c, b3 c"),
    "skip past last": (skipping(Skip.skip_past_last_event()), "b1 b2 b3 c", "b1 b2 b3 c"),
    "skip to first": (skipping(Skip.skip_to_first("b")), "b1 b2 b3 c", "b1 b2 b3 c, b2 b3 c, b3 c"),
    "skip to last": (skipping(Skip.skip_to_last("b")), "b1 b2 b3 c", "b1 b2 b3 c, b3 c"),
    "no skip of a loop": (
        skipping_to_first(Skip.no_skip()),
        "a b c1 c2 c3 d",
        "a b c1 c2 c3 d, b c1 c2 c3 d, c1 c2 c3 d",
    ),
    "skip to first of a loop": (
        skipping_to_first(Skip.skip_to_first("c*")),
        "a b c1 c2 c3 d",
        "a b c1 c2 c3 d, c1 c2 c3 d",
    ),
    "no skip at the end": (then(begin("a"), "b").one_or_more(), "a b1 b2 b3", "a b1, a b1 b2, a b1 b2 b3"),
    "skip to next at the end": (then(begin("a", Skip.skip_to_next()), "b").one_or_more(), "a b1 b2 b3", "a b1"),
}


@pytest.mark.parametrize("name", CASES)
def test_documented(name: str) -> None:
    pattern, stream, expected = CASES[name]
    harness = OperatorHarness(
        MatchPattern(
            pattern.within(Time.seconds(1))._to_engine(),
            Selecting(lambda match: " ".join(event for events in match.values() for event in events), False),
            lambda event: 0,
        )
    )
    for time, event in enumerate(stream.split()):
        harness.process(event, time)
    harness.end_input()
    assert sorted(harness.outputs()) == sorted(filter(None, expected.split(", ")))
