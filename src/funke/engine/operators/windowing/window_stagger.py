"""How windows of one size are shifted against each other in the subtasks, so that not all of them fire at once."""

from __future__ import annotations

import random
from enum import Enum

__all__ = ["WindowStagger"]


class WindowStagger(Enum):
    """The shift of a subtask's windows; goes beyond PyFlink, named as in Flink's Java API.

    >>> from funke.common import Time
    >>> from funke.datastream.window import TumblingProcessingTimeWindows, WindowStagger
    >>> windows = TumblingProcessingTimeWindows.of(Time.minutes(1)).with_stagger(WindowStagger.NATURAL)
    >>> windows.is_staggered, WindowStagger.NATURAL.get_stagger_offset(65_000, 60_000)
    (True, 5000)
    """

    ALIGNED = 0
    """No shift: all subtasks have the same windows."""
    RANDOM = 1
    """A random shift, chosen when the first element comes."""
    NATURAL = 2
    """The first window begins when the first element comes."""

    def get_stagger_offset(self, current_processing_time: int, size: int) -> int:
        """Return the shift in milliseconds, at least 0 and less than the size."""
        if self is WindowStagger.RANDOM:
            return random.randrange(size)
        return current_processing_time % size if self is WindowStagger.NATURAL else 0
