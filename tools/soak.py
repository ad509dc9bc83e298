"""Kills a job's processes at random, brings the job back, and checks that nothing was lost or written twice.

    python tools/soak.py [--seconds 600] [--seed N] [--faults]

Each round runs `tools/soak_job.py` to its end while slots, Spark's workers, Spark's own process (the executor of an
embedded session) and the driver are killed with SIGKILL. A driver that is dead is followed by `funke recover`. With
`--faults` every named step of an epoch is tried with every victim before.
"""

from __future__ import annotations

import argparse
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tools.crash_cases import FULL_MATRIX, run_case
from tools.killable_job import KillableJob, Victim

# How often each is chosen: the smaller the process, the sooner the job is back.
_VICTIMS: dict[Victim, int] = {"slot": 5, "watcher": 1, "driver": 3, "executor": 2, "worker": 2, "snapshot": 1}
_ROUND_S = 60.0
_PER_SECOND = 500
# Beyond this the job counts as stuck.
_PATIENCE_S = 240.0


@dataclass
class Tally:
    """What happened, over all rounds."""

    kills: Counter[str] = field(default_factory=Counter)
    rounds: int = 0
    restarts: int = 0
    recoveries: int = 0
    records: int = 0
    lines: int = 0
    lost: int = 0
    duplicated: int = 0

    def text(self) -> str:
        """For the terminal."""
        kills = ", ".join(f"{kind} {number}" for kind, number in sorted(self.kills.items()))
        return (
            f"rounds {self.rounds}\nkills {self.kills.total()} ({kills})\n"
            f"restarts {self.restarts} within a driver, {self.recoveries} by funke recover\n"
            f"records {self.records}, lines committed {self.lines}\n"
            f"duplicates {self.duplicated}\nlosses {self.lost}"
        )


def main(arguments: list[str]) -> int:
    """Runs rounds until the time is over; 1 if a line was lost or written twice."""
    parser = argparse.ArgumentParser(description="kills a job at random and checks its output")
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--faults", action="store_true", help="first, every named step with every victim")
    parser.add_argument("--folder", help="keep the files here")
    given = parser.parse_args(arguments)
    seed = random.randrange(1 << 30) if given.seed is None else given.seed
    print(f"seed {seed}", flush=True)
    folder = Path(given.folder or tempfile.mkdtemp(prefix="funke-soak-"))
    has_failed = given.faults and not _run_matrix(folder / "faults")
    tally = Tally()
    chance = random.Random(seed)
    end = time.monotonic() + given.seconds
    while tally.rounds == 0 or end - time.monotonic() > _ROUND_S / 2:
        _run_round(folder / f"round-{tally.rounds}", chance, min(_ROUND_S, end - time.monotonic()), tally)
        print(f"round {tally.rounds}: {tally.kills.total()} kills, {tally.records} records", flush=True)
    print(tally.text(), flush=True)
    has_failed = has_failed or tally.lost > 0 or tally.duplicated > 0
    if not has_failed and given.folder is None:
        shutil.rmtree(folder, ignore_errors=True)
    else:
        print(f"files are in {folder}")
    return 1 if has_failed else 0


def _run_round(folder: Path, chance: random.Random, seconds: float, tally: Tally) -> None:
    """One job from start to end: kills for so many seconds, then peace until it is done."""
    records = max(1, int(_PER_SECOND * seconds * 0.5))
    job = KillableJob(folder, records, f"{_PER_SECOND}/second")
    job.start()
    try:
        _kill_at_random(job, chance, seconds, tally)
        job.run_to_the_end(_PATIENCE_S)
        outcome = job.outcome()
    finally:
        job.close()
    tally.rounds += 1
    tally.restarts += job.log().count("restarting the job in ")
    tally.recoveries += job.starts - 1
    tally.records += records
    tally.lines += outcome.lines
    tally.lost += outcome.lost.total()
    tally.duplicated += outcome.duplicated.total()
    for kind, lines in (("lost", outcome.lost), ("written twice", outcome.duplicated)):
        for line, number in lines.most_common(5):
            print(f"  {kind}: {line} ({number} times)", flush=True)


def _kill_at_random(job: KillableJob, chance: random.Random, seconds: float, tally: Tally) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if not _bring_back(job):
            return
        # Mostly after some progress, else at any moment: while the job starts, restores, or fails already.
        if chance.random() < 0.75:
            _await_checkpoint(job, end)
        time.sleep(min(chance.expovariate(1.0), max(0.0, end - time.monotonic())))
        living = [kind for kind, pids in job.processes().items() if pids]
        if _checkpoint(job) is None:
            # Without Spark a job that has never run does not begin: there is nothing to bring back.
            living = [kind for kind in living if kind != "executor"]
        if living and time.monotonic() < end:
            (victim,) = chance.choices(living, [_VICTIMS[kind] for kind in living])
            tally.kills[victim] += job.kill(victim)


def _bring_back(job: KillableJob) -> bool:
    """Recovers the job if its driver was killed; False when it has ended."""
    assert job.process is not None
    code = job.process.poll()
    if code not in (None, 0, -signal.SIGKILL):
        raise RuntimeError(f"the driver ended with {code}:\n{job.log()[-4000:]}")
    if code is not None and code != 0:
        job.recover()
    return code != 0


def _await_checkpoint(job: KillableJob, end: float) -> None:
    """Waits until the job has completed another checkpoint, or has ended."""
    before = _checkpoint(job)
    while time.monotonic() < end and _checkpoint(job) == before:
        if job.process is None or job.process.poll() is not None:
            return
        time.sleep(0.1)


def _checkpoint(job: KillableJob) -> str | None:
    record = job.record()
    return None if record is None else record.state().checkpoint


def _run_matrix(folder: Path) -> bool:
    """Every step with every victim; True if all came out right."""
    failed = 0
    for number, (point, victim) in enumerate(_matrix()):
        problem = run_case(folder / str(number), point, victim)
        failed += problem is not None
        print(f"{point} × {victim}: {problem or 'exact'}", flush=True)
    return failed == 0


def _matrix() -> Iterator[tuple[str, Victim]]:
    yield from product(*FULL_MATRIX)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
