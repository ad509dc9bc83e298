"""Patterns as programs write them: each method appends to the pattern, or says more about its last part."""

from __future__ import annotations

from dataclasses import replace
from enum import Enum
from typing import Any

from funke.cep.after_match_skip_strategy import AfterMatchSkipStrategy
from funke.cep.conditions import to_condition
from funke.engine.errors import ConfigurationError, MalformedPatternError, UnsupportedFeatureError, at_user_line
from funke.engine.operators.patterns import pattern as engine
from funke.engine.operators.patterns.conditions import AllOf, AnyOf, Condition, IsInstance
from funke.engine.operators.patterns.pattern import Contiguity, Quantifier
from funke.engine.operators.patterns.pattern_json import to_plain
from funke.engine.operators.windowing.trigger import to_millis
from funke.engine.types.time import Duration, Time

__all__ = ["GroupPattern", "MalformedPatternException", "Pattern", "WithinType"]

MalformedPatternException = MalformedPatternError
_OPTIONAL_BEFORE_NOT = (
    "Specifying a pattern with an optional path to NOT condition is not supported yet. You can simulate such pattern "
    "with two independent patterns, one with and the other without the optional part."
)


class WithinType(Enum):
    """What `within` is about.

    >>> from funke.cep import Pattern, WithinType
    >>> from funke.common import Time
    >>> clicks = Pattern.begin("first").next("second").next("third")
    >>> clicks.within(Time.seconds(10), WithinType.PREVIOUS_AND_CURRENT).get_name()  # from each click to the next one
    'third'
    """

    FIRST_AND_LAST = "first and last"
    PREVIOUS_AND_CURRENT = "previous and current"


class Pattern:
    """The last part of a pattern, which knows the parts before it.

    >>> from funke.cep import Pattern
    >>> from funke.common import Time
    >>> pattern = (
    ...     Pattern.begin("small").where(lambda payment: payment.amount < 1)
    ...     .next("large").where(lambda payment: payment.amount > 500)
    ...     .within(Time.minutes(1))
    ... )
    >>> pattern.get_name(), pattern.get_previous().get_name()
    ('large', 'small')
    """

    def __init__(
        self,
        name: str,
        previous: Pattern | None,
        contiguity: Contiguity = Contiguity.STRICT,
        skip_strategy: AfterMatchSkipStrategy | None = None,
    ) -> None:
        self._name = name
        self._previous = previous
        self._contiguity = contiguity
        self._skip_strategy = skip_strategy or AfterMatchSkipStrategy.no_skip()
        self._condition: Condition | None = None
        self._until: Condition | None = None
        self._quantifier = Quantifier()
        self._has_quantifier = False
        self._within_ms: int | None = None
        self._within_previous_ms: int | None = None

    # What begins a pattern, and what follows

    @staticmethod
    def begin(name_or_group: str | Pattern, after_match_skip_strategy: AfterMatchSkipStrategy | None = None) -> Pattern:
        """Start a pattern, with its first event or with a group of patterns."""
        return _part(name_or_group, None, Contiguity.STRICT, after_match_skip_strategy)

    def next(self, name_or_group: str | Pattern) -> Pattern:
        """The next event fits: there is no event in between."""
        return _part(name_or_group, self, Contiguity.STRICT)

    def followed_by(self, name_or_group: str | Pattern) -> Pattern:
        """The next event that fits; others may lie in between."""
        return _part(name_or_group, self, Contiguity.RELAXED)

    def followed_by_any(self, name_or_group: str | Pattern) -> Pattern:
        """Any later event that fits, each of which makes a match."""
        return _part(name_or_group, self, Contiguity.RELAXED_ANY)

    def not_next(self, name: str) -> Pattern:
        """The next event does not fit."""
        self._reject_optional()
        return Pattern(name, self, Contiguity.NOT_NEXT)

    def not_followed_by(self, name: str) -> Pattern:
        """No event fits until the next part of the pattern; at the end of a pattern, until its time is over."""
        self._reject_optional()
        return Pattern(name, self, Contiguity.NOT_FOLLOWED_BY)

    def _reject_optional(self) -> None:
        if self._quantifier.is_optional:
            raise UnsupportedFeatureError("an optional part before a NOT", _OPTIONAL_BEFORE_NOT)

    # Which events fit

    def where(self, condition: Any) -> Pattern:
        """Events fit if the condition is true, and those that were given before.

        A condition is a function of the event, a function of the event and of the match so far, an object with
        `filter`, or an expression over the columns of a stream of rows or tuples with a declared type:
        `col("amount") > 100`, or as SQL `"amount > 100"`. Expressions are computed for whole batches.
        """
        added = to_condition(condition, "where()")
        self._condition = added if self._condition is None else AllOf((self._condition, added))
        return self

    def or_where(self, condition: Any) -> Pattern:
        """Events fit if the condition is true too."""
        added = to_condition(condition, "or_where()")
        self._condition = added if self._condition is None else AnyOf((self._condition, added))
        return self

    def subtype(self, subtype_class: type) -> Pattern:
        """Events fit if they are of a class."""
        added = IsInstance(subtype_class)
        self._condition = added if self._condition is None else AllOf((self._condition, added))
        return self

    def until(self, until_condition: Any) -> Pattern:
        """End a loop: from an event on for which the condition is true, nothing is added to it."""
        if self._until is not None:
            raise MalformedPatternException(at_user_line("Only one until condition can be applied."))
        if self._quantifier.at_most is not None:
            raise MalformedPatternException(at_user_line("The until condition is only applicable to looping states."))
        self._until = to_condition(until_condition, "until()")
        return self

    # How often they come

    def optional(self) -> Pattern:
        """The part may be missing."""
        if self._quantifier.is_optional:
            raise MalformedPatternException(at_user_line("Optional already applied!"))
        self._reject_not()
        if self._previous is not None and self._previous._quantifier.is_greedy:
            raise MalformedPatternException(at_user_line("Optional pattern cannot be preceded by greedy pattern"))
        self._quantifier = replace(self._quantifier, is_optional=True)
        return self

    def one_or_more(self) -> Pattern:
        """The part occurs once or more often."""
        return self.times_or_more(1)

    def times(self, times: int, to_times: int | None = None) -> Pattern:
        """The part occurs so many times, or between `times` and `to_times`."""
        most = times if to_times is None else to_times
        if times < (1 if to_times is None else 0) or most < max(times, 1):
            raise ConfigurationError(
                at_user_line(f"times() needs a number greater than 0, and the larger one second, got {times}, {most}")
            )
        if times == 0:
            self._reject_not()
            self._quantifier = replace(self._quantifier, is_optional=True)
        return self._times(max(times, 1), most)

    def times_or_more(self, times: int) -> Pattern:
        """The part occurs so many times or more often."""
        if times < 1:
            raise ConfigurationError(at_user_line(f"times_or_more() needs a number greater than 0, got {times}"))
        return self._times(times, None)

    def _times(self, least: int, most: int | None) -> Pattern:
        self._reject_not()
        if self._has_quantifier:
            raise MalformedPatternException(at_user_line("Already applied quantifier to this Pattern."))
        self._has_quantifier = True
        self._quantifier = replace(self._quantifier, at_least=least, at_most=most)
        return self

    def greedy(self) -> Pattern:
        """Take as many events as possible into the loop."""
        self._reject_not()
        if isinstance(self, GroupPattern):
            raise MalformedPatternException(at_user_line("Option not applicable to group pattern"))
        self._require_loop("singleton")
        if self._quantifier.inner is Contiguity.RELAXED_ANY:
            raise MalformedPatternException(at_user_line("Option not applicable to FollowedByAny pattern"))
        self._quantifier = replace(self._quantifier, is_greedy=True)
        return self

    def consecutive(self) -> Pattern:
        """No event lies between those of the loop."""
        self._require_loop("Combinations")
        self._quantifier = replace(self._quantifier, inner=Contiguity.STRICT)
        return self

    def allow_combinations(self) -> Pattern:
        """Events that fit may be left out of the loop."""
        self._require_loop("Combinations")
        if self._quantifier.is_greedy:
            raise MalformedPatternException(at_user_line("Option not applicable to greedy pattern"))
        self._quantifier = replace(self._quantifier, inner=Contiguity.RELAXED_ANY)
        return self

    def _require_loop(self, what: str) -> None:
        if not self._has_quantifier:
            raise MalformedPatternException(
                at_user_line(f"{what} not applicable to {self._name!r}: call one_or_more(), times() or times_or_more()")
            )

    def _reject_not(self) -> None:
        if self._contiguity.is_negative:
            raise MalformedPatternException(at_user_line("Option not applicable to NOT pattern"))

    # How long it may take

    def within(self, window_time: Time | Duration, within_type: WithinType = WithinType.FIRST_AND_LAST) -> Pattern:
        """Set how long a match may take: from its first event to its last, or from the event before to this one."""
        if not isinstance(window_time, (Time, Duration)):
            raise TypeError(at_user_line(f"within() needs a Duration or Time, got {type(window_time).__name__}"))
        milliseconds = to_millis(window_time)
        if within_type is WithinType.PREVIOUS_AND_CURRENT:
            if self._previous is None:
                raise MalformedPatternException(
                    at_user_line("the first part of a pattern has no event before it: within() of the first and last")
                )
            if isinstance(self, GroupPattern) or self._contiguity.is_negative:
                raise UnsupportedFeatureError("within() of the previous event for a group or a NOT")
            self._within_previous_ms = milliseconds
        else:
            self._within_ms = milliseconds
        return self

    # What was said

    def get_name(self) -> str:
        """Return the name."""
        return self._name

    def get_previous(self) -> Pattern | None:
        """Return the part before this one."""
        return self._previous

    def get_after_match_skip_strategy(self) -> AfterMatchSkipStrategy:
        """Return what a match leaves out."""
        return self._skip_strategy if self._previous is None else self._previous.get_after_match_skip_strategy()

    def to_json(self) -> dict[str, Any]:
        """Return the pattern as data for JSON, as `CEP.dynamic_patterns` takes it; goes beyond Flink.

        >>> Pattern.begin("small").where("amount < 1").next("large").where("amount > 500").to_json()
        {'parts': [{'name': 'small', 'where': 'amount < 1'}, {'name': 'large', 'where': 'amount > 500'}]}
        """
        return to_plain(self._to_engine())

    def _parts(self) -> tuple[Pattern, ...]:
        before = () if self._previous is None else self._previous._parts()
        return (*before, self)

    def _element(self) -> engine.Element:
        return engine.Stage(
            self._name,
            self._condition,
            self._contiguity,
            self._quantifier,
            self._until,
            self._within_previous_ms,
        )

    def _to_engine(self) -> engine.Pattern:
        """The whole pattern, as the engine runs it."""
        parts = self._parts()
        # As in Flink the shortest time is that of the pattern.
        within_ms = min((each._within_ms for each in parts if each._within_ms), default=None)
        skip = self.get_after_match_skip_strategy()._skip
        pattern = engine.Pattern(tuple(each._element() for each in parts), within_ms, skip)
        if skip.stage and skip.stage not in pattern.names:
            raise MalformedPatternException(
                at_user_line(f"the pattern to skip to, {skip.stage!r}, is none of {', '.join(pattern.names)}")
            )
        return pattern


class GroupPattern(Pattern):
    """A pattern as a part of another one, with a quantifier of its own.

    >>> from funke.cep import CEP, GroupPattern, Pattern
    >>> from funke.datastream import StreamExecutionEnvironment
    >>> pair = Pattern.begin("a").where(lambda x: x == "a").next("b").where(lambda x: x == "b")
    >>> twice = Pattern.begin(pair).times(2).consecutive()
    >>> isinstance(twice, GroupPattern)
    True
    >>> letters = StreamExecutionEnvironment.get_execution_environment().from_collection(["a", "b", "a", "b"])
    >>> matches = CEP.pattern(letters, twice).in_processing_time()
    >>> list(matches.select(lambda match: (match["a"], match["b"])).execute_and_collect())
    [(['a', 'a'], ['b', 'b'])]
    """

    def __init__(
        self,
        group: Pattern,
        previous: Pattern | None,
        contiguity: Contiguity,
        skip_strategy: AfterMatchSkipStrategy | None = None,
    ) -> None:
        super().__init__("GroupPattern", previous, contiguity, skip_strategy)
        self._group = group

    def where(self, condition: Any) -> Pattern:
        """Groups have no condition."""
        raise UnsupportedFeatureError("where() of a group", "GroupPattern does not support where clause.")

    def or_where(self, condition: Any) -> Pattern:
        """Groups have no condition."""
        raise UnsupportedFeatureError("or_where() of a group", "GroupPattern does not support or clause.")

    def subtype(self, subtype_class: type) -> Pattern:
        """Groups have no condition."""
        raise UnsupportedFeatureError("subtype() of a group", "GroupPattern does not support subtype clause.")

    def _element(self) -> engine.Element:
        elements = tuple(each._element() for each in self._group._parts())
        return engine.Group(elements, self._contiguity, self._quantifier, self._until)


def _part(
    name_or_group: str | Pattern,
    previous: Pattern | None,
    contiguity: Contiguity,
    skip_strategy: AfterMatchSkipStrategy | None = None,
) -> Pattern:
    if isinstance(name_or_group, Pattern):
        return GroupPattern(name_or_group, previous, contiguity, skip_strategy)
    return Pattern(name_or_group, previous, contiguity, skip_strategy)
