"""The pattern that an operation looks for, whichever front end it comes from."""

from __future__ import annotations

from inspect import ismethod

from funke.engine.graph.operations import CustomOperator, MatchPattern, Operation
from funke.engine.operators.patterns.pattern import Pattern
from funke.engine.sql.operators.match_columns import MatchColumns
from funke.engine.sql.plan.match_recognize import MatchRecognize

__all__ = ["pattern_of"]


def pattern_of(operation: Operation) -> Pattern | None:
    """The pattern of funke.cep or of MATCH_RECOGNIZE; None if it is another operation."""
    if isinstance(operation, MatchPattern):
        pattern: Pattern = operation.pattern
        return pattern
    if not isinstance(operation, CustomOperator):
        return None
    if isinstance(operation.create, MatchColumns):
        return operation.create.pattern
    # The factory of a plan node is its own method.
    node = operation.create.__self__ if ismethod(operation.create) else None
    return node.described_pattern() if isinstance(node, MatchRecognize) else None
