"""All there is to see of a running job: its view, its metrics, its flame graphs, what its threads do."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from funke.engine.config.settings import Settings
from funke.engine.graph.stream_graph import StreamGraph
from funke.engine.jobs.attempts.job_attempts import JobAttempts
from funke.engine.jobs.attempts.slot_commands import dump_slots, sample_slots
from funke.engine.jobs.job_lifecycle import JobLifecycle
from funke.engine.jobs.submission.job_planning import PlannedJob
from funke.engine.jobs.views.back_pressure import PressureGauge
from funke.engine.jobs.views.flame_graph import FlameGraph, FlameGraphs, FlameKind, Samples
from funke.engine.jobs.views.job_metrics import checkpoint_metrics, job_metrics
from funke.engine.jobs.views.job_view import JobView, MetricsView
from funke.engine.jobs.views.metric_names import metrics_by_name
from funke.engine.jobs.views.view_making import planned_view, with_executions, with_pressures, with_status
from funke.engine.runtime.monitoring.flame_samples import SampleCommand
from funke.engine.runtime.monitoring.thread_dump import ThreadStack
from funke.engine.types.job_status import JobStatus

__all__ = ["RunningJobView"]


class RunningJobView:
    """Puts together what is planned, what the attempts report and how the job stands."""

    def __init__(self, graph: StreamGraph, planned: PlannedJob, attempts: JobAttempts, lifecycle: JobLifecycle) -> None:
        configuration, record = planned.settings.configuration, planned.settings.record
        view = planned_view(planned.job_id, graph, planned.graph, planned.plan, configuration)
        started_ms = record.record.started_ms if record is not None else int(time.time() * 1000)
        self._planned_view = replace(view, started_ms=started_ms)
        self._planned = planned
        self._attempts = attempts
        self._lifecycle = lifecycle
        self._pressure = PressureGauge(Settings(configuration))
        self._flames = FlameGraphs(Settings(configuration), planned.plan, self._sample)

    def look(self) -> JobView:
        """The view at this moment."""
        view = with_status(self._planned_view, self._lifecycle)
        view = with_executions(view, self._attempts.executions, self._attempts.hosts)
        metrics, statistics = self._metrics(), self._attempts.statistics
        coordinator = self._planned.checkpoint_coordinator
        return replace(
            with_pressures(view, self._pressure.look(metrics.tasks)),
            attempt=self._attempts.deployment.attempt,
            metrics=metrics,
            held=statistics.held if statistics is not None and view.status is JobStatus.RUNNING else (),
            waiting_for=self._attempts.waiting_for,
            checkpoints=coordinator.statistics.with_under_way(
                () if view.status.is_globally_terminal_state() else coordinator.under_way()
            ),
            seen_ms=int(time.time() * 1000),
        )

    def flame_graph(self, vertex_id: int, kind: FlameKind, subtask: int | None) -> FlameGraph:
        """Which functions take the time of a vertex, or of one of its subtasks."""
        return self._flames.look(vertex_id, kind, subtask)

    def thread_stacks(self) -> dict[int, tuple[ThreadStack, ...]]:
        """What the threads of each slot do."""
        runner = self._attempts.runner
        return {} if runner is None else dump_slots(runner)

    def metrics(self) -> dict[str, Any]:
        """What the job and its operators report; see `metrics_by_name`."""
        return metrics_by_name(self._metrics(), self._planned_view.vertices)

    def configure(self, changed: Mapping[str, str], without: str) -> None:
        """From now on shows these values, and an option only if it is among them."""
        kept = {key: value for key, value in self._planned_view.configuration.items() if key != without}
        self._planned_view = replace(self._planned_view, configuration={**kept, **changed})

    def _sample(self, command: SampleCommand) -> Samples:
        runner = self._attempts.runner
        return {} if runner is None else sample_slots(runner, command)

    def _metrics(self) -> MetricsView:
        statistics = self._attempts.statistics
        if statistics is None:
            return MetricsView()
        measured = job_metrics(statistics, self._planned.plan)
        checkpoints = checkpoint_metrics(self._planned.checkpoint_coordinator)
        return replace(measured, job={**measured.job, **checkpoints, "numRestarts": self._lifecycle.restarts})
