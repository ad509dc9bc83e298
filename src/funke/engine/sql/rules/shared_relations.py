"""Equal parts of a job's queries are computed once, and equal sources read once: Flink's reuse of sub-plans."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from funke.engine.config.option_values import parse_boolean
from funke.engine.sql.binding.relations import Relation, Scan, inputs_of

__all__ = ["Reuse", "SharedRelations", "repeated_relations", "reuse_of"]

_Result = TypeVar("_Result")


@dataclass(frozen=True)
class Reuse:
    """The parts of a job's queries that are computed once."""

    of_parts: bool = True
    # Of sources by themselves; those of equal parts are read once anyway.
    of_sources: bool = True


class _Settings(Protocol):
    def get(self, key: str, default: str) -> str: ...


def reuse_of(settings: _Settings) -> Reuse:
    """The reuse that the settings of a session ask for."""
    keys = ("table.optimizer.reuse-sub-plan-enabled", "table.optimizer.reuse-source-enabled")
    return Reuse(*(parse_boolean(settings.get(key, "true")) for key in keys))


class SharedRelations(Generic[_Result]):
    """The results of relations, which are found again for equal ones."""

    def __init__(self, reuse: Reuse) -> None:
        self._reuse = reuse
        # Relations may hold what has no hash: they are found by their columns, and then compared.
        self._results: dict[tuple[Any, ...], list[tuple[Relation, _Result]]] = {}

    def find(self, relation: Relation) -> _Result | None:
        """The result of an equal relation, if it may be used again."""
        if not self._reuse.of_parts or (isinstance(relation, Scan) and not self._reuse.of_sources):
            return None
        return next((result for other, result in self._results.get(_key(relation), ()) if other == relation), None)

    def add(self, relation: Relation, result: _Result) -> None:
        """Remembers the result of a relation."""
        self._results.setdefault(_key(relation), []).append((relation, result))


def _key(relation: Relation) -> tuple[Any, ...]:
    return type(relation), tuple(each.name for each in relation.columns)


def repeated_relations(relations: Sequence[Relation], reuse: Reuse) -> list[Relation]:
    """The relations that are used again, in the order in which plans number them."""
    shared: SharedRelations[Relation] = SharedRelations(reuse)
    repeated: list[Relation] = []

    def visit(relation: Relation) -> None:
        earlier = shared.find(relation)
        if earlier is None:
            shared.add(relation, relation)
            for each in inputs_of(relation):
                visit(each)
        elif not any(each is earlier for each in repeated):
            repeated.append(earlier)

    for each in relations:
        visit(each)
    return repeated
