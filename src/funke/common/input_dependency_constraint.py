"""When a task of Flink 1.x could start."""

from __future__ import annotations

from enum import Enum

__all__ = ["InputDependencyConstraint"]


class InputDependencyConstraint(Enum):
    """Which inputs must have data before a task starts: any of them, or all.

    >>> from funke.common import InputDependencyConstraint
    >>> [constraint.name for constraint in InputDependencyConstraint]
    ['ANY', 'ALL']
    """

    ANY = 0
    ALL = 1
