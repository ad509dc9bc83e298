"""The entry: a pattern applied to a stream."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from funke.cep.pattern import Pattern
from funke.cep.pattern_stream import PatternStream
from funke.datastream.data_stream import DataStream
from funke.engine.errors import at_user_line

__all__ = ["CEP"]


class CEP:
    """Applies patterns to streams."""

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
