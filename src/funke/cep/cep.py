"""The entry: a pattern applied to a stream."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from funke.cep.dynamic_pattern_stream import DynamicPatternStream
from funke.cep.pattern import Pattern
from funke.cep.pattern_stream import PatternStream
from funke.datastream.data_stream import DataStream, KeyedStream
from funke.engine.errors import at_user_line

__all__ = ["CEP"]


class CEP:
    """Applies patterns to streams.

    >>> from funke.cep import CEP, Pattern
    >>> from funke.datastream import StreamExecutionEnvironment
    >>> pattern = Pattern.begin("low").where(lambda x: x < 10).next("high").where(lambda x: x > 90)
    >>> readings = StreamExecutionEnvironment.get_execution_environment().from_collection([5, 50, 7, 99])
    >>> jumps = CEP.pattern(readings, pattern).in_processing_time()
    >>> list(jumps.select(lambda match: (match["low"], match["high"])).execute_and_collect())
    [([7], [99])]
    """

    @staticmethod
    def pattern(
        input: DataStream, pattern: Pattern, comparator: Callable[[Any, Any], int] | None = None
    ) -> PatternStream:
        """Look for a pattern in a stream, under each key of a keyed one, else in one subtask.

        The comparator orders events at the same time: negative if the first comes first.
        """
        if not isinstance(input, DataStream):
            raise TypeError(at_user_line(f"CEP.pattern() needs a stream, got {type(input).__name__}"))
        if not isinstance(pattern, Pattern):
            raise TypeError(at_user_line(f"CEP.pattern() needs a Pattern, got {type(pattern).__name__}"))
        return PatternStream(input, pattern, comparator)

    @staticmethod
    def dynamic_patterns(input: DataStream, definitions: DataStream) -> DynamicPatternStream:
        """Look in a keyed stream for patterns that come with another stream; goes beyond Flink.

        A definition is a text of JSON: `{"id": "fraud", "version": 2, "from": 1700000000000, "pattern": {…}}`. From an
        event time on, or at once without one, it replaces the version before it; with null as the pattern it ends the
        pattern. `Pattern.to_json()` gives the JSON of a pattern.
        """
        if not isinstance(input, KeyedStream):
            raise TypeError(at_user_line(f"dynamic_patterns() needs a keyed stream, got {type(input).__name__}"))
        if not isinstance(definitions, DataStream):
            raise TypeError(
                at_user_line(f"dynamic_patterns() needs a stream of definitions, got {type(definitions).__name__}")
            )
        return DynamicPatternStream(input, definitions)
