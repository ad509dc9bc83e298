"""`funke info`: shows the graphs and the plan of a program's first job without running it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from textwrap import indent
from typing import NoReturn

from funke.datastream.job_submission import submitting_with
from funke.engine.errors import GraphError
from funke.engine.graph.execution_graph import to_execution_graph
from funke.engine.graph.plan_json import to_plan_json
from funke.engine.graph.stream_graph import StreamGraph
from funke.engine.graph.text_forms import to_text
from funke.engine.jobs.settings import JobSettings
from funke.engine.operators.patterns.picture import picture
from funke.engine.planner.chaining import to_job_graph
from funke.engine.planner.exchange_mode import exchange_mode
from funke.engine.planner.explain import explain
from funke.engine.planner.plan import to_plan
from funke.engine.sql.patterns import pattern_of

__all__ = ["describe_job", "first_job", "info"]


class _Submitted(BaseException):
    """Ends the program where it would submit a job; not an Exception, so that no `except` of the program keeps it."""

    def __init__(self, graph: StreamGraph) -> None:
        super().__init__(graph)
        self.graph = graph


def info(program: Callable[[], None], is_json: bool = False) -> None:
    """Run the program up to its first job and print what that job would be; as JSON, its plan."""
    graph = first_job(program)
    print(to_plan_json(graph) if is_json else describe_job(graph))


def first_job(program: Callable[[], None]) -> StreamGraph:
    """Run the program up to its first job; what that job would be."""
    try:
        with submitting_with(_reject):
            program()
    except _Submitted as submitted:
        return submitted.graph
    raise GraphError("the program has ended without executing a job")


def describe_job(graph: StreamGraph) -> str:
    """All forms of a job: stream graph, job graph, execution graph, levels and Spark stages."""
    job_graph = to_job_graph(graph)
    mode = exchange_mode(job_graph)
    parts = [
        to_text(graph),
        to_text(job_graph),
        to_text(to_execution_graph(job_graph)),
        explain(to_plan(job_graph, has_regions=mode.is_pipelined), mode),
        *_pictures(graph),
    ]
    return "\n\n".join(parts)


def _pictures(graph: StreamGraph) -> Iterator[str]:
    """The automata of patterns."""
    for node in graph.nodes.values():
        pattern = pattern_of(node.operation)
        if pattern is not None:
            yield f"Pattern of node {node.id}, {node.title}\n{indent(picture(pattern), '  ')}"


def _reject(graph: StreamGraph, settings: JobSettings) -> NoReturn:
    raise _Submitted(graph)
