"""All figures of the cluster for Prometheus."""

from __future__ import annotations

from funke.ops.metrics.cluster_figures import cluster_figures
from funke.ops.metrics.prometheus import prometheus_text
from funke.ops.rest.call import Call
from funke.ops.rest.cluster_pages import overview
from funke.ops.rest.cluster_state import Cluster

__all__ = ["metrics_text"]


def metrics_text(cluster: Cluster) -> bytes:
    """Of the service itself and of all jobs that run."""
    running = [
        job.view() for job in cluster.jobs.all() if job.is_driven and not job.seen.status.is_globally_terminal_state()
    ]
    return prometheus_text(running, cluster_figures(overview(Call(cluster))))
