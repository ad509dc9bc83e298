"""The graph of a SQL job as lines that people compare: its plan, its operators, their uids and what their state is."""

from __future__ import annotations

import json
from typing import Any

from funke.engine.graph.partitioners import Partitioner
from funke.engine.graph.stream_graph import StreamEdge, StreamGraph, StreamNode

__all__ = ["graph_lines"]


def graph_lines(graph: StreamGraph) -> list[str]:
    """The plans of all sinks, then one line per operator, and one for its state if it has some."""
    numbers = {node_id: number for number, node_id in enumerate(sorted(graph.nodes), 1)}
    lines: list[str] = []
    for node_id in sorted(graph.nodes):
        statement = graph.nodes[node_id].statement
        if statement is not None:
            lines += statement.plan.split("\n")
    for node_id in sorted(graph.nodes):
        lines += _node_lines(graph.nodes[node_id], numbers)
    return lines


def _node_lines(node: StreamNode, numbers: dict[int, int]) -> list[str]:
    uid = "" if node.uid is None else f" uid '{node.uid}'"
    parallelism = "" if node.parallelism is None else f" x{node.parallelism}"
    inputs = ", ".join(
        f"{_exchange(each.partitioner)}{numbers[each.source]}{_side(node, each)}" for each in node.inputs
    )
    lines = [f"{numbers[node.id]} {node.title}{uid}{parallelism}{' <- ' if inputs else ''}{inputs}"]
    meaning = getattr(node.operation, "meaning", None)
    return lines if meaning is None else [*lines, f"  state {_state_text(json.loads(meaning.to_text()))}"]


def _side(node: StreamNode, edge: StreamEdge) -> str:
    return "" if len(node.inputs) == 1 else f" input {edge.input_index}"


def _exchange(partitioner: Partitioner | None) -> str:
    if partitioner is None:
        return ""
    names = getattr(getattr(partitioner, "key_selector", None), "names", ())
    return f"{partitioner.label}({', '.join(names)}) " if names else f"{partitioner.label} "


def _state_text(state: dict[str, Any]) -> str:
    facts = [f"{name} {value}" for name, value in state["facts"].items()]
    parts = [f"{name} [{', '.join(each['text'] for each in own)}]" for name, own in state["parts"].items()]
    return "; ".join([state["state"], *facts, *parts, f"rows {state['rows']}", f"sources {state['sources']}"])
