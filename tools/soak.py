"""Disturbs a job at random, brings it back, and checks that nothing was lost, written twice, left over or unanswered.

    python tools/soak.py [--seconds 600] [--seed N] [--kinds kill,pause,…] [--jobs stream,sql] [--faults]

Each round runs `tools/soak_job.py` or `tools/soak_sql_job.py` while slots, Spark's workers, Spark's own process (the
executor of an embedded session) and the driver are killed with SIGKILL or stopped for a while, the disk is full, files
of checkpoints change, and commands come in between (`tools/disturbances.py`). A driver that is gone is followed by
`funke recover`. In the end the job finishes, is stopped with a savepoint from which another one goes on, or is
cancelled. Jobs that promise at least once may repeat lines. With `--faults` every named step of an epoch is tried with
every victim before.
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
from types import ModuleType

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tools import soak_job, soak_sql_job
from tools.crash_cases import FULL_MATRIX, run_case
from tools.disturbances import KINDS, Commands, Disturbances
from tools.killable_job import KillableJob, Outcome, Victim
from tools.small_disk import SmallDisk

_ROUND_S = 60.0
_PER_SECOND = 500
# Beyond this the job counts as stuck.
_PATIENCE_S = 240.0
# Things that happen to a job at least, and the longest time in which nothing does.
_FEWEST = 3
_LONGEST_QUIET_S = 5.0
_ENDINGS = ("finish", "stop", "cancel")
_GOING_BACK = "going back to the checkpoint before it"
_OPTIONS = {
    "execution.checkpointing.timeout": "30 s",
    "execution.checkpointing.tolerable-failed-checkpoints": "1000000",
    "execution.checkpointing.num-retained": "2",
    # State is in files, where it can be damaged.
    "execution.checkpointing.data-inline-threshold": "0",
    # Then lines may come again, once for each time.
    "funke.recovery.on-damage": "repeat",
    "heartbeat.interval": "500 ms",
    "heartbeat.timeout": "4 s",
}
_ROCKSDB = {"state.backend.type": "rocksdb", "execution.checkpointing.incremental": "true"}
_UNALIGNED = {"execution.checkpointing.unaligned": "true"}
_LATE = {**_UNALIGNED, "execution.checkpointing.aligned-checkpoint-timeout": "50 ms"}
_AT_LEAST_ONCE = {"execution.checkpointing.mode": "AT_LEAST_ONCE"}
_WAYS: tuple[dict[str, str], ...] = ({}, {**_ROCKSDB, **_LATE}, _ROCKSDB, _UNALIGNED, _AT_LEAST_ONCE)
_JOBS: dict[str, ModuleType] = {"stream": soak_job, "sql": soak_sql_job}


@dataclass
class Tally:
    """What happened, over all rounds."""

    happened: Counter[str] = field(default_factory=Counter)
    answered: Counter[str] = field(default_factory=Counter)
    rounds: int = 0
    restarts: int = 0
    recoveries: int = 0
    fallbacks: int = 0
    records: int = 0
    lines: int = 0
    lost: int = 0
    duplicated: int = 0
    # By jobs that promise at least once.
    repeated: int = 0
    unanswered: list[str] = field(default_factory=list)
    left_over: list[str] = field(default_factory=list)

    @property
    def is_good(self) -> bool:
        """Whether the job came through all of it."""
        return not (self.lost or self.duplicated or self.unanswered or self.left_over)

    @property
    def kills(self) -> int:
        """How many processes were killed."""
        return sum(number for kind, number in self.happened.items() if kind.startswith("kill"))

    def text(self) -> str:
        """For the terminal."""
        return (
            f"rounds {self.rounds}\nkills {self.kills}\n"
            f"happened: {_listed(self.happened)}\ncommands answered: {_listed(self.answered)}\n"
            f"restarts {self.restarts} within a driver, {self.recoveries} by funke recover, "
            f"{self.fallbacks} from an older checkpoint\n"
            f"records {self.records}, lines committed {self.lines}\n"
            f"lines repeated at least once {self.repeated}\n"
            f"duplicates {self.duplicated}\nlosses {self.lost}\n"
            f"unanswered {len(self.unanswered)}\nleft over {len(self.left_over)}"
        )


def _listed(numbers: Counter[str]) -> str:
    return ", ".join(f"{kind} {number}" for kind, number in sorted(numbers.items())) or "none"


def main(arguments: list[str]) -> int:
    """Runs rounds until the time is over; 1 if something is wrong."""
    parser = argparse.ArgumentParser(description="disturbs a job at random and checks what becomes of it")
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--kinds", default=",".join(KINDS), help=f"what may happen, of {', '.join(KINDS)}")
    parser.add_argument("--jobs", default=",".join(_JOBS), help="which jobs run, in turn")
    parser.add_argument("--faults", action="store_true", help="first, every named step with every victim")
    parser.add_argument("--folder", help="keep the files here")
    options = parser.parse_args(arguments)
    kinds = options.kinds.split(",")
    if unknown := set(kinds) - KINDS.keys():
        parser.error(f"unknown kinds: {', '.join(sorted(unknown))}")
    jobs = options.jobs.split(",")
    if unknown := set(jobs) - _JOBS.keys():
        parser.error(f"unknown jobs: {', '.join(sorted(unknown))}")
    seed = random.randrange(1 << 30) if options.seed is None else options.seed
    print(f"seed {seed}", flush=True)
    folder = Path(options.folder or tempfile.mkdtemp(prefix="funke-soak-"))
    has_failed = options.faults and not _run_matrix(folder / "faults")
    # However it is ended, it takes its job and its disk with it.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    tally = Tally()
    chance = random.Random(seed)
    end = time.monotonic() + options.seconds
    while tally.rounds == 0 or end - time.monotonic() > _ROUND_S / 2:
        job = _JOBS[jobs[tally.rounds % len(jobs)]]
        Round(folder / f"round-{tally.rounds}", tally.rounds, chance, kinds, job).run(end - time.monotonic(), tally)
        print(f"round {tally.rounds}: {tally.kills} kills, {tally.records} records", flush=True)
    print(tally.text(), flush=True)
    has_failed = has_failed or not tally.is_good
    if not has_failed and options.folder is None:
        shutil.rmtree(folder, ignore_errors=True)
    else:
        print(f"files are in {folder}")
    return 1 if has_failed else 0


class Round:
    """One job from start to end: disturbed for so many seconds, then left in peace until it is done."""

    def __init__(self, folder: Path, number: int, chance: random.Random, kinds: list[str], program: ModuleType) -> None:
        self._folder = folder
        self._program = program
        self._chance = chance
        self._ending = _ENDINGS[number % len(_ENDINGS)]
        self._forks = "fork" in kinds and number % 2 == 0 and program is soak_job
        # After damage a job may have to write output again: other rounds show that it writes nothing twice.
        is_damaging = "kill" not in kinds or number % 3 == 1
        self._kinds = [kind for kind in kinds if KINDS[kind] and (kind != "damage" or is_damaging)]
        # Not always the same way with the same disturbances.
        self._way = _WAYS[number * 3 // 2 % len(_WAYS)]

    def run(self, seconds: float, tally: Tally) -> None:
        """Runs the job and adds to the tally."""
        seconds = min(_ROUND_S, seconds)
        variables = {"SOAK_FORKS": "1"} if self._forks else {}
        options = {**_OPTIONS, **self._way}
        records = max(1, int(_PER_SECOND * seconds * 0.5))
        disk = SmallDisk(self._folder / "disk", lambda: [pid for pids in self._writers(job).values() for pid in pids])
        job = KillableJob(
            self._folder,
            records,
            f"{_PER_SECOND}/second",
            options,
            program=Path(str(self._program.__file__)),
            expected=self._program.expected,
            variables=variables,
            storage=disk.path,
        )
        commands = Commands(job)
        disturbances = Disturbances(job, disk, commands, self._chance)
        try:
            job.start()
            self._disturb(job, disturbances, seconds)
            is_complete = self._end(job, disturbances, commands)
            tally.left_over += job.left_over()
            outcome = job.outcome()
        finally:
            job.close()
            disk.close()
        tally.rounds += 1
        tally.records += records
        tally.happened += disturbances.happened + Counter({"forking function": int(self._forks)})
        tally.answered += commands.answered
        tally.unanswered += commands.unanswered
        tally.restarts += job.log().count("restarting the job in ")
        tally.recoveries += job.recoveries
        fallbacks = job.log().count(_GOING_BACK)
        tally.fallbacks += fallbacks
        if self._way is _AT_LEAST_ONCE:
            tally.repeated += outcome.duplicated.total()
            lost = Counter({line: n for line, n in outcome.lost.items() if self._program.is_of_a_record(line)})
            outcome = Outcome(outcome.lines, lost, Counter())
        _judge(outcome, is_complete, fallbacks, tally)
        for problem in [*commands.unanswered, *tally.left_over]:
            print(f"  {problem}", flush=True)

    @staticmethod
    def _writers(job: KillableJob) -> dict[Victim, list[int]]:
        return {kind: pids for kind, pids in job.processes().items() if kind in ("driver", "slot", "snapshot")}

    def _disturb(self, job: KillableJob, disturbances: Disturbances, seconds: float) -> None:
        end = time.monotonic() + seconds
        # On a slow machine the job may not even run before the time is over.
        while time.monotonic() < end or disturbances.happened.total() < _FEWEST:
            if not _bring_back(job, disturbances):
                return
            # Mostly after some progress, else at any moment: while the job starts, restores, or fails already.
            if self._chance.random() < 0.75:
                _await_checkpoint(job, time.monotonic() + seconds)
            time.sleep(min(self._chance.expovariate(1.0), _LONGEST_QUIET_S))
            disturbances.happen(self._kinds)

    def _end(self, job: KillableJob, disturbances: Disturbances, commands: Commands) -> bool:
        """Ends the job as this round wants it, if it has not ended; says whether it has processed everything."""
        is_running = _bring_back(job, disturbances)
        if is_running and self._ending != "finish":
            _await_checkpoint(job, time.monotonic() + _PATIENCE_S)
        record = job.record()
        if is_running and record is not None and self._ending == "cancel":
            done = commands.run("cancel", record.job_id)
            if done is not None and done.returncode == 0:
                job.wait(_PATIENCE_S)
                return False
        if is_running and record is not None and self._ending == "stop":
            done = commands.run("stop", "-p", str(self._folder / "stopped"), record.job_id)
            if done is not None and done.returncode == 0:
                job.wait(_PATIENCE_S)
                job.start(done.stdout.split("Path: ")[1].splitlines()[0])
        _run_to_the_end(job, disturbances)
        return True


def _judge(outcome: Outcome, is_complete: bool, fallbacks: int, tally: Tally) -> None:
    """Counts what is wrong with the output. A job that went back to an older checkpoint may write some lines again."""
    lost = outcome.lost if is_complete else Counter[str]()
    duplicated = Counter(
        {line: number - fallbacks for line, number in outcome.duplicated.items() if number > fallbacks}
    )
    tally.lines += outcome.lines
    tally.lost += lost.total()
    tally.duplicated += duplicated.total()
    for kind, lines in (("lost", lost), ("written twice", duplicated)):
        for line, number in lines.most_common(5):
            print(f"  {kind}: {line} ({number} times)", flush=True)


def _run_to_the_end(job: KillableJob, disturbances: Disturbances) -> None:
    """Waits for the end of a job that is left in peace."""
    end = time.monotonic() + _PATIENCE_S
    while _bring_back(job, disturbances):
        if time.monotonic() > end:
            raise RuntimeError(f"the job takes too long:\n{job.log()[-4000:]}")
        time.sleep(0.1)


def _bring_back(job: KillableJob, disturbances: Disturbances) -> bool:
    """Recovers the job if its driver was killed or could not go on for want of room; False when it has ended."""
    assert job.process is not None
    code = job.process.poll()
    if code is None or code == 0:
        return code is None
    record = job.record()
    has_ended = record is not None and record.state().status.is_globally_terminal_state()
    if has_ended or (code != -signal.SIGKILL and not disturbances.has_filled_disk):
        raise RuntimeError(f"the driver ended with {code}:\n{job.log()[-4000:]}")
    job.recover()
    return True


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
