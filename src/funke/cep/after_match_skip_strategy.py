"""Which matches a match leaves out."""

from __future__ import annotations

from dataclasses import dataclass, replace

from funke.engine.errors import ConfigurationError, at_user_line
from funke.engine.operators.patterns.pattern import Skip, SkipKind

__all__ = ["AfterMatchSkipStrategy"]


@dataclass(frozen=True)
class AfterMatchSkipStrategy:
    """What happens to the partial matches that have events in common with a match; made by its class methods.

    >>> from funke.cep import CEP, AfterMatchSkipStrategy, Pattern
    >>> from funke.datastream import StreamExecutionEnvironment
    >>> skip = AfterMatchSkipStrategy.skip_past_last_event()
    >>> pattern = Pattern.begin("as", skip).where(lambda letter: letter == "a").times(2)
    >>> letters = StreamExecutionEnvironment.get_execution_environment().from_collection(["a", "a", "a", "a"])
    >>> matches = CEP.pattern(letters, pattern).in_processing_time()
    >>> list(matches.select(lambda match: match["as"]).execute_and_collect())  # no_skip() gives three
    [['a', 'a'], ['a', 'a']]
    """

    _skip: Skip

    @staticmethod
    def no_skip() -> AfterMatchSkipStrategy:
        """Emit every match; this is the default."""
        return AfterMatchSkipStrategy(Skip())

    @staticmethod
    def skip_to_next() -> AfterMatchSkipStrategy:
        """Discard every partial match that began with the event that the match began with."""
        return AfterMatchSkipStrategy(Skip(SkipKind.TO_NEXT))

    @staticmethod
    def skip_past_last_event() -> AfterMatchSkipStrategy:
        """Discard every partial match that began between the first and the last event of the match."""
        return AfterMatchSkipStrategy(Skip(SkipKind.PAST_LAST))

    @staticmethod
    def skip_to_first(pattern_name: str) -> AfterMatchSkipStrategy:
        """Discard every partial match that began before the first event of a pattern in the match."""
        return AfterMatchSkipStrategy(Skip(SkipKind.TO_FIRST, pattern_name))

    @staticmethod
    def skip_to_last(pattern_name: str) -> AfterMatchSkipStrategy:
        """Discard every partial match that began before the last event of a pattern in the match."""
        return AfterMatchSkipStrategy(Skip(SkipKind.TO_LAST, pattern_name))

    def throw_exception_on_miss(self) -> AfterMatchSkipStrategy:
        """Fail if a match has no event of the pattern to skip to; without it such a match skips nothing."""
        if not self._skip.stage:
            raise ConfigurationError(at_user_line("throw_exception_on_miss() needs skip_to_first() or skip_to_last()"))
        return replace(self, _skip=replace(self._skip, fails_on_miss=True))

    def is_skip_strategy(self) -> bool:
        """Return whether some matches may be left out."""
        return self._skip.kind is not SkipKind.NO_SKIP

    def get_pattern_name(self) -> str | None:
        """Return the pattern that is skipped to, if there is one."""
        return self._skip.stage or None
