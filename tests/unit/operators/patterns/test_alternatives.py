"""Alternatives are rejected where their rules are those of no front end."""

from __future__ import annotations

import pytest

from funke.engine.errors import UnsupportedFeatureError
from funke.engine.operators.patterns.compiler import compile_pattern
from funke.engine.operators.patterns.conditions import OfEvent
from funke.engine.operators.patterns.pattern import (
    Alternatives,
    Contiguity,
    Element,
    Group,
    Pattern,
    Quantifier,
    Stage,
    stages_in,
)

A, B, C = (Stage(name, OfEvent(bool)) for name in "ABC")
SEQUENCES = ((A, B), (C,))
END = Stage("end")


@pytest.mark.parametrize(
    ("elements", "reason"),
    [
        ((Alternatives(SEQUENCES, quantifier=Quantifier(2, 2)), END), "repeated"),
        ((END, Alternatives(SEQUENCES, Contiguity.RELAXED)), "in front of them"),
        ((Alternatives(((A,), (B,))), Stage("no", None, Contiguity.NOT_NEXT), END), "must not come"),
        ((Alternatives(((A,), (Stage("B", within_previous_ms=3),))), END), "times between events"),
        ((Alternatives(((A,), (B,))), Stage("end", until=OfEvent(bool), quantifier=Quantifier(1, None))), "until"),
        ((Group((Alternatives(((A,), (B,))), END), quantifier=Quantifier(2, 2)),), "begins with"),
    ],
)
def test_rejected(elements: tuple[Element, ...], reason: str) -> None:
    with pytest.raises(UnsupportedFeatureError, match=reason):
        compile_pattern(Pattern(elements))


def test_permutations_share_their_rests() -> None:
    def in_any_order(stages: tuple[Stage, ...]) -> tuple[Element, ...]:
        if len(stages) == 1:
            return stages
        rests = [tuple(other for other in stages if other is not each) for each in stages]
        return (Alternatives(tuple((each, *in_any_order(rest)) for each, rest in zip(stages, rests))),)

    elements = in_any_order(tuple(Stage(str(number), OfEvent(bool)) for number in range(6)))
    assert [stage.name for stage in stages_in(elements)] == list("012345")
    # A state for each set of what is still to come and each way to go on, not one for each of 720 orders.
    assert len(compile_pattern(Pattern(elements)).states) < 300
