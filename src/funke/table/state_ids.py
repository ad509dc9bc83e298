"""Ids for the state of queries: a changed query finds its state again, if what keeps state is the same."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING

from funke.engine.graph.operations import ColumnOperator
from funke.engine.sql.binding.relations import Relation
from funke.engine.sql.meaning.column_texts import ColumnTexts

if TYPE_CHECKING:
    from funke.datastream.data_stream import DataStream
    from funke.datastream.stream_execution_environment import StreamExecutionEnvironment

__all__ = ["described", "state_ids"]


def described(operation: ColumnOperator, upstream: DataStream, source: Relation) -> ColumnOperator:
    """The same operation, whose state says which rows have come, and from where."""
    if operation.meaning is None:
        return operation
    sources = ", ".join(sorted(_sources_of(upstream)))
    meaning = replace(operation.meaning, rows=ColumnTexts().rows(source), sources=sources)
    return replace(operation, meaning=meaning)


def _sources_of(upstream: DataStream) -> set[str]:
    nodes = upstream._env._nodes.nodes
    waiting, seen, found = [each.node_id for each in upstream._upstreams], set[int](), set[str]()
    while waiting:
        node = nodes[waiting.pop()]
        if node.id not in seen:
            seen.add(node.id)
            waiting += [edge.source for edge in node.inputs]
            if not node.inputs:
                found.add(node.uid or node.name)
    return found


@contextlib.contextmanager
def state_ids(env: StreamExecutionEnvironment, name: str) -> Iterator[None]:
    """Operators that are added meanwhile are known by a name, and by how many were known by it before.

    Their places do not count: a filter in front of them changes nothing.
    """
    first = env._last_id + 1
    yield
    nodes = env._nodes.nodes
    taken = {node.uid for node in nodes.values()}
    numbers = (f"{name} {number}" for number in count(1))
    for number in range(first, env._last_id + 1):
        if number in nodes and nodes[number].uid is None:
            nodes[number].uid = next(each for each in numbers if each not in taken)
