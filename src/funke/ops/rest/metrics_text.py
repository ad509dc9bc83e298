"""All metrics of the cluster, with labels: for Prometheus as text, for others as they are."""

from __future__ import annotations

from collections.abc import Iterator

from funke.engine.jobs.views.job_view import JobView
from funke.ops.metrics.cluster_metrics import cluster_metrics
from funke.ops.metrics.labelled_metrics import LabelledMetrics, labelled_metrics
from funke.ops.metrics.prometheus import prometheus_text
from funke.ops.rest.call import Call
from funke.ops.rest.cluster_pages import overview
from funke.ops.rest.cluster_state import Cluster

__all__ = ["metrics_with_labels", "metrics_text"]


def metrics_text(cluster: Cluster) -> bytes:
    """Of the service itself and of all jobs that run."""
    return prometheus_text(_running(cluster), cluster_metrics(overview(Call(cluster))))


def metrics_with_labels(cluster: Cluster) -> Iterator[LabelledMetrics]:
    """The same."""
    return labelled_metrics(_running(cluster), cluster_metrics(overview(Call(cluster))))


def _running(cluster: Cluster) -> list[JobView]:
    return [
        job.view() for job in cluster.jobs.all() if job.is_driven and not job.seen.status.is_globally_terminal_state()
    ]
