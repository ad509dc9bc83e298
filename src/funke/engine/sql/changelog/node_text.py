"""Relations as the nodes of Flink's plans name them, for errors."""

from __future__ import annotations

from funke.engine.sql.binding.relations import Aggregation, BoundAggregate, Column, Relation

__all__ = ["node_text"]


def node_text(relation: Relation) -> str:
    """The node with what it does: GroupAggregate(groupBy=[id], select=[id, COUNT(*) AS EXPR$0])."""
    if isinstance(relation, Aggregation):
        return _aggregation(relation)
    return f"{type(relation).__name__}({', '.join(map(_name, relation.columns))})"


def _aggregation(aggregation: Aggregation) -> str:
    inputs = aggregation.input.columns
    keys = [_name(inputs[place]) for place in aggregation.keys]
    calls = [f"{_call(each, inputs)} AS EXPR${number}" for number, each in enumerate(aggregation.aggregates)]
    group_by = f"groupBy=[{', '.join(keys)}], " if keys else ""
    return f"GroupAggregate({group_by}select=[{', '.join([*keys, *calls])}])"


def _call(aggregate: BoundAggregate, inputs: tuple[Column, ...]) -> str:
    call = aggregate.call
    arguments = [_name(inputs[place]) for place in aggregate.arguments if place >= 0]
    distinct = "DISTINCT " if call.is_distinct else ""
    condition = "" if aggregate.condition is None else f" FILTER {_name(inputs[aggregate.condition])}"
    return f"{call.function.name.upper()}({distinct}{', '.join(arguments) or '*'}){condition}"


def _name(column: Column) -> str:
    # Columns that are computed for an aggregation have a number behind their name.
    name, _, number = column.name.rpartition("$")
    return name if name and number.isdigit() and name != "EXPR" else column.name
