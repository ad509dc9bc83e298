"""All figures of the cluster, with labels: for Prometheus as text, for others as they are."""

from __future__ import annotations

from collections.abc import Iterator

from funke.engine.jobs.views.job_view import JobView
from funke.ops.metrics.cluster_figures import cluster_figures
from funke.ops.metrics.labelled_figures import LabelledFigures, labelled_figures
from funke.ops.metrics.prometheus import prometheus_text
from funke.ops.rest.call import Call
from funke.ops.rest.cluster_pages import overview
from funke.ops.rest.cluster_state import Cluster

__all__ = ["figures_with_labels", "metrics_text"]


def metrics_text(cluster: Cluster) -> bytes:
    """Of the service itself and of all jobs that run."""
    return prometheus_text(_running(cluster), cluster_figures(overview(Call(cluster))))


def figures_with_labels(cluster: Cluster) -> Iterator[LabelledFigures]:
    """The same."""
    return labelled_figures(_running(cluster), cluster_figures(overview(Call(cluster))))


def _running(cluster: Cluster) -> list[JobView]:
    return [
        job.view() for job in cluster.jobs.all() if job.is_driven and not job.seen.status.is_globally_terminal_state()
    ]
