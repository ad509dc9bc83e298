"""What operators that keep the rows of several inputs say of each: the names of metrics, which pages read."""

from __future__ import annotations

__all__ = ["input_metrics"]


def input_metrics(number: int, rows_in_memory: int, state_bytes: int) -> dict[str, int]:
    """The metrics of an input.

    >>> input_metrics(1, 20, 1800)
    {'numRowsInMemoryOfInput1': 20, 'stateBytesOfInput1': 1800}
    """
    return {f"numRowsInMemoryOfInput{number}": rows_in_memory, f"stateBytesOfInput{number}": state_bytes}
