"""The location of an event in a job."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["NOWHERE", "OperatorLocation"]


@dataclass(frozen=True)
class OperatorLocation:
    """An operator in one of its subtasks. Ids identify it; the name and the user's line are for people.

    The vertex is that of the chain in which the code runs. It is another one than the operator's own for the key
    selector of an operator, which runs where records are sent.
    """

    name: str = ""
    user_line: str | None = None
    operator_id: str = ""
    vertex_id: int | None = None
    subtask: int | None = None


# Of what happens in no operator.
NOWHERE = OperatorLocation()
