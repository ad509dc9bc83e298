"""Where results reach the next function as they are, because PyFlink runs both in one Python process.

PyFlink makes values fit their declared type by serialising them, and does so only where a chain of Python functions
ends. What Funke runs in one place is another matter: this follows PyFlink's rules alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from funke.engine.graph import operations as op
from funke.engine.graph.partitioners import Forward
from funke.engine.graph.stream_graph import ChainingStrategy, StreamEdge, StreamGraph

# Functions on streams without keys go on where the one before them ends.
_FOLLOWERS = (op.Map, op.FlatMap, op.Filter, op.OneByOne, op.Process, op.AsyncWait)
_FUNCTIONS = (*_FOLLOWERS, op.Reduce, op.Window, op.CoMap, op.CoFlatMap, op.CoProcess, op.IntervalJoin)


def unchanged_outputs(graph: StreamGraph, edges: Iterable[StreamEdge]) -> frozenset[int]:
    """The nodes whose only receiver belongs to the same chain of Python functions; `edges` have partitioners."""
    if not graph.is_python_chaining_enabled:
        return frozenset()
    edges = list(edges)
    outgoing = Counter(edge.source for edge in edges)
    return frozenset(edge.source for edge in edges if outgoing[edge.source] == 1 and _is_fused(graph, edge))


def _is_fused(graph: StreamGraph, edge: StreamEdge) -> bool:
    upstream, downstream = graph.nodes[edge.source], graph.nodes[edge.target]
    return (
        isinstance(edge.partitioner, Forward)
        and not upstream.has_side_outputs
        and len(downstream.inputs) == 1
        and _is_function(upstream.operation)
        and _follows_functions(downstream.operation)
        and graph.parallelism_of(upstream) == graph.parallelism_of(downstream)
        and upstream.max_parallelism == downstream.max_parallelism
        and upstream.slot_sharing_group == downstream.slot_sharing_group
        and upstream.chaining is not ChainingStrategy.NEVER
        and downstream.chaining is ChainingStrategy.ALWAYS
    )


def _is_function(operation: op.Operation) -> bool:
    return isinstance(operation, _FUNCTIONS) and not isinstance(operation, op.BuiltInMap)


def _follows_functions(operation: op.Operation) -> bool:
    if isinstance(operation, op.AssignTimestamps):
        # The assigner is a function of its own; what leaves it is made to fit.
        return operation.watermarks.timestamp_assigner is not None
    return isinstance(operation, _FOLLOWERS) and not isinstance(operation, op.BuiltInMap)
