"""Names an operator of a job, as its uid or as the hash of it."""

from __future__ import annotations

from dataclasses import dataclass

from funke.engine.planner.chaining import operator_id_of_uid

__all__ = ["OperatorIdentifier"]


@dataclass(frozen=True)
class OperatorIdentifier:
    """The operator with a uid, or with a uid hash (which is also what Funke calls operators without a uid).

    >>> from funke.state_api import OperatorIdentifier
    >>> str(OperatorIdentifier.for_uid("count")), str(OperatorIdentifier.for_uid_hash("a" * 32))
    ("uid 'count'", "uid hash 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'")
    """

    uid: str | None
    operator_id: str

    @staticmethod
    def for_uid(uid: str) -> OperatorIdentifier:
        """Return the operator for which the program calls `uid(...)`."""
        return OperatorIdentifier(uid, operator_id_of_uid(uid))

    @staticmethod
    def for_uid_hash(uid_hash: str) -> OperatorIdentifier:
        """Return the operator for which the program calls `set_uid_hash(...)`, or one without a uid."""
        return OperatorIdentifier(None, uid_hash)

    @staticmethod
    def of(identifier: OperatorIdentifier | str) -> OperatorIdentifier:
        """Return the identifier itself, or that of a uid."""
        if isinstance(identifier, OperatorIdentifier):
            return identifier
        if isinstance(identifier, str):
            return OperatorIdentifier.for_uid(identifier)
        raise TypeError(f"an operator is named by its uid or an OperatorIdentifier, got {type(identifier).__name__}")

    def __str__(self) -> str:
        return f"uid '{self.uid}'" if self.uid is not None else f"uid hash '{self.operator_id}'"
