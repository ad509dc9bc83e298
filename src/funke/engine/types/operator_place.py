"""Where in a job something happens."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["NOWHERE", "OperatorPlace"]


@dataclass(frozen=True)
class OperatorPlace:
    """An operator in one of its subtasks. It is known by its ids: name and the user's line are for people to read.

    The vertex is that of the chain in which the code runs. It is another one than the operator's own for the key
    selector of an operator, which runs where records are sent.
    """

    name: str = ""
    user_line: str | None = None
    operator_id: str = ""
    vertex_id: int | None = None
    subtask: int | None = None


# Of what happens in no operator.
NOWHERE = OperatorPlace()
