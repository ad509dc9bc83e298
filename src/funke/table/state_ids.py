"""Ids for the state of queries: a changed query finds its state again, if what keeps state is the same."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from itertools import count
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from funke.datastream.stream_execution_environment import StreamExecutionEnvironment

__all__ = ["state_ids"]


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
