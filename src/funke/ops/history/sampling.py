"""Looks at every job that runs, every ten seconds, as long as the process lives."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from funke.engine.errors import FunkeError
from funke.ops.alarms.outlook import outlooks
from funke.ops.history.metric_history import INTERVAL_MS
from funke.ops.history.points import point_of
from funke.ops.rest.cluster_state import Cluster

__all__ = ["sample", "start_sampling"]

_LOG = logging.getLogger(__name__)


def sample(cluster: Cluster, now_ms: int) -> None:
    """Adds a point to each job that runs, and forgets jobs that are not known any more."""
    jobs = cluster.jobs.all()
    running = [job for job in jobs if job.is_driven and not job.seen.status.is_globally_terminal_state()]
    for job in running:
        cluster.history.add(job.job_id, point_of(job.seen))
    # Alarms that were acknowledged count as there, also while no page is open.
    outlooks(cluster, now_ms)
    job_ids = {job.job_id for job in jobs}
    cluster.history.forget({job.job_id for job in running}, job_ids)
    cluster.acknowledgements.forget(job_ids)


def start_sampling(cluster: Cluster) -> Callable[[], None]:
    """Samples in a thread; returns what ends that."""
    stopping = threading.Event()

    def run() -> None:
        while not stopping.wait(INTERVAL_MS / 1000):
            try:
                sample(cluster, int(time.time() * 1000))
            except (FunkeError, OSError) as error:  # a disk that is full now may not be so later
                _LOG.error("jobs cannot be looked at: %s", error)

    threading.Thread(target=run, name="funke-history", daemon=True).start()
    return stopping.set
