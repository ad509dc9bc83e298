"""Hands jobs to the engine, or to whoever stands in for it while a program is only looked at."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from funke.engine.graph.stream_graph import StreamGraph
from funke.engine.jobs.settings import JobSettings

if TYPE_CHECKING:
    from funke.engine.jobs.running_job import RunningJob

__all__ = ["Submitter", "submit", "submitting_with"]

Submitter = Callable[[StreamGraph, JobSettings], "RunningJob"]


def _submit_to_engine(graph: StreamGraph, settings: JobSettings) -> RunningJob:
    # Not at the top: workers import the public API for its function classes and never run a job.
    from funke.engine.jobs.running_job import submit_job

    return submit_job(graph, settings)


_submitter: ContextVar[Submitter] = ContextVar("funke_submitter", default=_submit_to_engine)


def submit(graph: StreamGraph, settings: JobSettings) -> RunningJob:
    """Start a job."""
    return _submitter.get()(graph, settings)


@contextmanager
def submitting_with(submitter: Submitter) -> Iterator[None]:
    """Let all jobs go to another submitter, such as one that shows their graphs or keeps a list of them."""
    token = _submitter.set(submitter)
    try:
        yield
    finally:
        _submitter.reset(token)
