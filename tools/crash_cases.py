"""One crash at a named step of an epoch: the job is held there, a process is killed, and the output must be exact."""

from __future__ import annotations

import time
from pathlib import Path

from funke.engine.runtime.fault_points import POINTS
from tools.killable_job import KillableJob, Victim

# All named steps that a job of two sinks passes, and everybody who can be killed there.
FULL_MATRIX: tuple[tuple[str, ...], tuple[Victim, ...]] = (
    tuple(point for point in POINTS if point != "restore"),
    ("slot", "worker", "executor", "driver"),
)
# Steps that come only once, or once in each process, or not in every epoch; the others are taken at the second time.
ONCE = ("slot-start", "in-snapshot", "after-final-metadata", "between-commits")
_RECORDS = 2400
# However slow the machine, there are so many checkpoints to crash in.
_PACE = "150/checkpoint"
_PATIENCE_S = 90.0


def run_case(
    folder: Path, point: str, victim: Victim, time_: int = 2, options: dict[str, str] | None = None
) -> str | None:
    """Kills the victim while the job stands at the point; what is wrong with the output, or None."""
    marks = folder / "marks"
    number = 1 if point in ONCE else time_
    plan = f"{point}:{number}:hold@{marks}"
    # One step comes only in epochs.
    exchange = "blocking" if point == "after-epoch" else "pipelined"
    job = KillableJob(folder, _RECORDS, _PACE, {"funke.fault": plan, "funke.exchange": exchange, **(options or {})})
    job.start()
    try:
        if not _wait_for(job, marks):
            return "the step was never reached"
        if not job.kill(victim):
            return f"there was no {victim} to kill"
        (marks / "go").touch()
        job.run_to_the_end(_PATIENCE_S)
        outcome = job.outcome()
    finally:
        job.close()
    if outcome.is_exact:
        return None
    return f"lost {dict(outcome.lost.most_common(3))}, too many {dict(outcome.duplicated.most_common(3))}"


def _wait_for(job: KillableJob, marks: Path) -> bool:
    end = time.monotonic() + _PATIENCE_S
    while time.monotonic() < end:
        if marks.is_dir() and any("." in path.name for path in marks.iterdir()):
            return True
        if job.process is not None and job.process.poll() is not None:
            return False
        time.sleep(0.02)
    return False
