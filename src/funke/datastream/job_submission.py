"""Hands jobs to the engine, or to its stand-in while a program is only inspected."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from funke.engine.graph.stream_graph import StreamGraph
from funke.engine.jobs.settings import JobSettings

if TYPE_CHECKING:
    from funke.engine.jobs.job import SubmittedJob

__all__ = ["Submitter", "submit", "submit_to_engine", "submitting_with"]

Submitter = Callable[[StreamGraph, JobSettings], "SubmittedJob"]


def submit_to_engine(graph: StreamGraph, settings: JobSettings) -> SubmittedJob:
    """Start a job, and Spark if it does not run yet."""
    # Not at the top: workers import the public API for its function classes and never run a job.
    from funke.engine.runtime.spark.spark_session import prepare_spark

    prepare_spark(settings.configuration)
    from funke.engine.jobs.submission.submission import submit_job

    return submit_job(graph, settings)


_submitter: ContextVar[Submitter] = ContextVar("funke_submitter", default=submit_to_engine)


def submit(graph: StreamGraph, settings: JobSettings) -> SubmittedJob:
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
