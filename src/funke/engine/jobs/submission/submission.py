"""Takes a job from a program and starts it, unless it has been seen to its end before."""

from __future__ import annotations

import os

from funke.engine.config.settings import Settings
from funke.engine.graph.stream_graph import StreamGraph
from funke.engine.jobs.control import serve_commands
from funke.engine.jobs.job import SubmittedJob
from funke.engine.jobs.records.recorded_job import EndedJob
from funke.engine.jobs.records.recovery import admit_if_asked
from funke.engine.jobs.running_job import RunningJob
from funke.engine.jobs.settings import JobSettings
from funke.engine.jobs.submission.own_pages import serve_own_pages
from funke.engine.trust.run_folders import remove_abandoned_once

__all__ = ["submit_job"]


def submit_job(graph: StreamGraph, settings: JobSettings) -> SubmittedJob:
    """Plans a job and starts it; one that a driver before this one has seen to its end is not run again."""
    remove_abandoned_once()
    admitted = admit_if_asked(settings)
    if isinstance(admitted, EndedJob):
        return admitted
    record = admitted.record
    try:
        job = RunningJob(graph, admitted)
    except BaseException as failure:
        if record is not None:
            record.give_up(failure)
        raise
    try:
        if record is not None:
            server = serve_commands(record.record.control_path, job, job.savepoint_limit_s)
            job.closing.append(server.close)
            serve_own_pages(Settings(admitted.configuration), os.path.dirname(os.path.dirname(record.record.folder)))
        return job.start()
    except BaseException as failure:
        job.abandon(failure)
        raise
