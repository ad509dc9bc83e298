"""Restarts the failover region of a slot that has failed, in threads beside the coordinator that serves the others."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager
from dataclasses import dataclass

from funke.engine.errors import JobExecutionError, SlotLostError
from funke.engine.graph.execution_graph import ExecutionState, ExecutionVertex
from funke.engine.jobs.attempts.job_executions import JobExecutions
from funke.engine.jobs.attempts.job_failure import failure_of
from funke.engine.jobs.checkpoints.checkpoints import Checkpoint
from funke.engine.jobs.sources.source_coordinator import SourceCoordinator
from funke.engine.planner.plan import Plan
from funke.engine.planner.regions import Region
from funke.engine.runtime.epochs.results import Failure
from funke.engine.runtime.pipelined.region_runners import RegionRunners
from funke.engine.runtime.pipelined.stream_runner import StreamRunner
from funke.engine.runtime.slots.worker_setup import JobDeployment

__all__ = ["FailedRegion", "RegionFailover", "RegionRestart", "RegionRestarts", "StartedRegion"]

# A slot that fails because another failed may report first; and when Spark is gone, all regions fail together.
_OTHER_FAILURES_S = 0.1
_END_S = 10.0


@dataclass(frozen=True)
class RegionRestart:
    """What a region begins anew with."""

    deployment: JobDeployment
    start: Checkpoint | None
    delay_ms: int


CreateRunner = Callable[[Region, JobDeployment, dict[int, str]], StreamRunner]


@dataclass(frozen=True)
class RegionRestarts:
    """What a job says to the restart of a region."""

    next_restart: Callable[[Exception], RegionRestart]
    create_sources: Callable[[Checkpoint | None, Collection[int]], list[SourceCoordinator]]
    # Until the slots have started, their hosts are asked whether they see what they must.
    probed: Callable[[JobDeployment], AbstractContextManager[JobDeployment]]
    # All regions run again.
    on_running: Callable[[], object]


@dataclass(frozen=True)
class FailedRegion:
    """A region that is to restart."""

    region: Region
    error: JobExecutionError


@dataclass(frozen=True)
class StartedRegion:
    """A region whose slots are deployed again."""

    region: Region
    runner: StreamRunner
    sources: list[SourceCoordinator]


class RegionFailover:
    """The regions of a job that have failed, and those that are on their way back."""

    def __init__(
        self,
        plan: Plan,
        runners: RegionRunners,
        executions: JobExecutions,
        restarts: RegionRestarts,
        create_runner: CreateRunner,
    ) -> None:
        self._plan = plan
        self._runners = runners
        self._executions = executions
        self._restarts = restarts
        self._create_runner = create_runner
        self._failures: dict[int, list[Failure]] = {}
        self._failed_at: dict[int, float] = {}
        self._restarting: dict[int, threading.Thread] = {}
        self._ended: queue.SimpleQueue[StartedRegion | FailedRegion | BaseException] = queue.SimpleQueue()
        self._closing = threading.Event()

    @property
    def is_restarting(self) -> bool:
        """Whether a region does not run: no checkpoint can begin, and the job cannot end."""
        return bool(self._restarting or self._failures)

    def note(self, slot: int, failure: Failure) -> Region:
        """A slot has failed; returns its region."""
        region = self._runners.region_of(slot)
        self._failures.setdefault(region, []).append(failure)
        self._failed_at.setdefault(region, time.monotonic())
        return self._plan.regions[region]

    @property
    def wait_s(self) -> float | None:
        """How long the reasons of a failure may take to come; None if there is none."""
        if not self._failures:
            return None
        return max(0.0, min(self._failed_at.values()) + _OTHER_FAILURES_S - time.monotonic())

    def failed(self) -> list[FailedRegion]:
        """The regions that are to restart now; raises the failure when it is that of all of the job."""
        due = [
            region
            for region, failures in self._failures.items()
            if not failures[-1].is_slot_lost or time.monotonic() - self._failed_at[region] >= _OTHER_FAILURES_S
        ]
        if due and len(self._failures) == len(self._plan.regions):
            raise failure_of([failure for failures in self._failures.values() for failure in failures])
        failed_regions = []
        for region in due:
            del self._failed_at[region]
            failed_regions.append(FailedRegion(self._plan.regions[region], failure_of(self._failures.pop(region))))
        return failed_regions

    def decide(self, failed: FailedRegion) -> RegionRestart:
        """How a region begins anew; raises its failure when all of the job has to, or may not."""
        return self._restarts.next_restart(failed.error)

    def begin(self, failed: FailedRegion, restart: RegionRestart, sources: list[SourceCoordinator]) -> None:
        """Begins a region anew; `sources` are those that it had."""
        region = failed.region
        old = self._runners.retire(region.number)
        self._executions.fail(failed.error, self._is_in(region))
        self._executions.begin(restart.deployment.attempt, self._is_in(region))
        thread = threading.Thread(
            target=self._run, args=(region, restart, old, sources), name="funke-region", daemon=True
        )
        self._restarting[region.number] = thread
        thread.start()

    def _is_in(self, region: Region) -> Callable[[ExecutionVertex], bool]:
        return lambda each: each.vertex_id in region.vertices

    def _run(
        self, region: Region, restart: RegionRestart, old: StreamRunner | None, sources: list[SourceCoordinator]
    ) -> None:
        end = time.monotonic() + restart.delay_ms / 1000
        try:
            hosts = {}
            if old is not None:
                hosts = old.hosts
                old.close()
            _close(sources)
            if not self._closing.wait(max(0.0, end - time.monotonic())):
                self._ended.put(self._start(region, restart, hosts))
        except SlotLostError as error:
            self._ended.put(FailedRegion(region, error))
        except BaseException as error:
            self._ended.put(error)
        self._runners.wake()

    def _start(self, region: Region, restart: RegionRestart, hosts: dict[int, str]) -> StartedRegion:
        sources = self._restarts.create_sources(restart.start, region.vertices)
        try:
            with self._restarts.probed(restart.deployment) as deployment:
                runner = self._create_runner(region, deployment, hosts)
                with self._runners.starting(runner):
                    self._executions.enter(ExecutionState.DEPLOYING, self._is_in(region))
                    try:
                        runner.deploy()
                    except BaseException:
                        runner.close()
                        raise
        except BaseException:
            _close(sources)
            raise
        self._executions.enter(ExecutionState.INITIALIZING, self._is_in(region))
        return StartedRegion(region, runner, sources)

    def ended(self) -> list[StartedRegion | FailedRegion]:
        """The restarts that have ended since the last call, one way or the other; raises what is wrong with the job."""
        results = []
        while not self._ended.empty():
            result = self._ended.get()
            if isinstance(result, BaseException):
                raise result
            del self._restarting[result.region.number]
            results.append(result)
        return results

    def go_on(self, started: StartedRegion) -> None:
        """A region runs again."""
        self._runners.adopt(started.region.number, started.runner)
        self._executions.enter(ExecutionState.RUNNING, self._is_in(started.region))
        if not self.is_restarting:
            self._restarts.on_running()

    def close(self) -> None:
        """The job's attempt is over, and with it the restarts that are under way."""
        self._closing.set()
        self._runners.cancel()
        for thread in self._restarting.values():
            thread.join(_END_S)
        while not self._ended.empty():
            result = self._ended.get()
            if isinstance(result, StartedRegion):
                result.runner.close()
                _close(result.sources)


def _close(sources: list[SourceCoordinator]) -> None:
    for source in sources:
        source.enumerator.close()
