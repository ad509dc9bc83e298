"""Ready-made tests for the outcome of an asynchronous call."""

from __future__ import annotations

from typing import Any

__all__ = ["empty_result_predicate", "exception_type_predicate", "has_exception_predicate"]


def empty_result_predicate(result: list[Any] | None) -> bool:
    """Tell whether a call gave no results."""
    return not result


def has_exception_predicate(error: BaseException | None) -> bool:
    """Tell whether a call failed."""
    return error is not None


def exception_type_predicate(error: BaseException | None, expected_error_type: type[BaseException]) -> bool:
    """Tell whether a call failed with an error of a certain type."""
    return isinstance(error, expected_error_type)
