"""How all jobs stand at a glance: rates, lag, pressure and alarm of each, and one sentence about all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from funke.engine.jobs.views.job_view import JobView
from funke.engine.types.job_status import JobStatus
from funke.ops.alarms.alarm import Alarm, find_alarm
from funke.ops.history.points import Point, point_of
from funke.ops.rest.cluster_state import Cluster
from funke.ops.rest.job_directory import KnownJob

__all__ = ["Outlook", "Sentence", "outlooks", "sentence_of"]

# A failed job of the service is no longer an alarm after this time.
_FADING_MS = 3_600_000
_MOST_NAMED = 5
_LASTS_MS = 5_000


@dataclass(frozen=True)
class Outlook:
    """One job."""

    view: JobView
    run_id: str
    point: Point
    # Whether the service runs its program; else a command line does.
    is_service_run: bool
    alarm: Alarm | None
    acknowledged_ms: int | None
    # An ended failure that is old, that a later run of the job has overtaken, or that its user has seen at the end of
    # a command.
    is_faded: bool

    @property
    def needs_someone(self) -> bool:
        """Whether the first sentence counts it."""
        return self.alarm is not None and self.acknowledged_ms is None and not self.is_faded


@dataclass(frozen=True)
class Sentence:
    """The answer to: is anything wrong?"""

    # As pages colour it: good, warn, bad, none.
    level: str
    text: str


def outlooks(cluster: Cluster, now_ms: int) -> list[Outlook]:
    """All jobs, the oldest first."""
    jobs = cluster.jobs.all()
    last_start = {job.seen.name: job.seen.started_ms for job in jobs}
    outlooks_of_jobs = []
    for job in jobs:
        view = job.seen
        is_service_run = cluster.is_service_run(job.record.run_id)
        alarm = _alarm_of(job, cluster, now_ms)
        is_faded = alarm is not None and view.ended_ms is not None
        if is_faded and is_service_run and view.ended_ms is not None:
            is_faded = now_ms - view.ended_ms > _FADING_MS or last_start[view.name] > view.started_ms
        seen_ms = None
        if alarm is not None:
            seen_ms = cluster.acknowledgements.time_of(view.job_id, alarm, now_ms)
        outlooks_of_jobs.append(
            Outlook(view, job.record.run_id, _point_of(job), is_service_run, alarm, seen_ms, is_faded)
        )
    return outlooks_of_jobs


def _point_of(job: KnownJob) -> Point:
    """Once for each view: several pages ask every second."""
    if "point" not in job.kept:
        job.kept["point"] = point_of(job.seen)
    point: Point = job.kept["point"]
    return point


def _alarm_of(job: KnownJob, cluster: Cluster, now_ms: int) -> Alarm | None:
    """Found anew with a new view, and after some seconds."""
    if not _may_alarm(job.seen):
        return None
    kept_alarm: tuple[int, Alarm | None] = job.kept.get("alarm", (-_LASTS_MS, None))
    at_ms, alarm = kept_alarm
    if not 0 <= now_ms - at_ms < _LASTS_MS:
        alarm = find_alarm(job.seen, cluster.history.of(job.job_id), now_ms)
        job.kept["alarm"] = (now_ms, alarm)
    return alarm


def _may_alarm(view: JobView) -> bool:
    return view.status is JobStatus.FAILED or not view.status.is_globally_terminal_state()


def sentence_of(outlooks_of_jobs: Sequence[Outlook]) -> Sentence:
    """How many jobs run, how many need attention, and the worst of them with its cause."""
    if not outlooks_of_jobs:
        return Sentence("none", "No job has run here yet.")
    running = sum(1 for each in outlooks_of_jobs if not each.view.status.is_globally_terminal_state())
    runs = f"{_jobs(running)} {'runs' if running == 1 else 'run'}" if running else "No job runs"
    calling = sorted((each for each in outlooks_of_jobs if each.needs_someone), key=_urgency)
    if not calling:
        seen = sum(1 for each in outlooks_of_jobs if each.acknowledged_ms is not None and not each.is_faded)
        rest = f"nothing new needs you; {_jobs(seen)} {'has' if seen == 1 else 'have'} an alarm you have seen"
        text = rest if seen else "nothing needs you"
        if running:
            return Sentence("warn" if seen else "good", f"{runs}, {text}.")
        return Sentence("none", f"{runs}; {_jobs(len(outlooks_of_jobs))} ended.")
    worst, others = calling[0], [each.view.name for each in calling[1:]]
    level = "bad" if any(each.alarm is not None and each.alarm.is_bad for each in calling) else "warn"
    assert worst.alarm is not None
    text = f"{runs}, {len(calling)} {'needs' if len(calling) == 1 else 'need'} you: "
    text += f"{worst.view.name} {worst.alarm.text.removesuffix('.')}."
    if others:
        named = ", ".join(others[: _MOST_NAMED - 1])
        text += f" Also {named}{' …' if len(others) >= _MOST_NAMED else '.'}"
    return Sentence(level, text)


def _urgency(each: Outlook) -> tuple[bool, bool, str]:
    assert each.alarm is not None
    return not each.alarm.is_bad, each.view.ended_ms is not None, each.view.name


def _jobs(number: int) -> str:
    return f"{number} job{'' if number == 1 else 's'}"
