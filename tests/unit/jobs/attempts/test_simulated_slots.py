"""The driver's side of a streaming job, all of it but Spark, against slots that speak the protocol and read nothing."""

from __future__ import annotations

import os
import time
from pathlib import Path

from funke.engine.graph.execution_graph import ExecutionState
from funke.engine.jobs.checkpoints.checkpoints import read_checkpoint
from funke.engine.runtime.pipelined.messages import Begin
from funke.engine.types.job_status import JobStatus
from funke.ops.rest.answering import DirectAnswers
from funke.ops.rest.cluster_state import Cluster
from funke.ops.rest.job_directory import JobDirectory
from tests.harness.simulated_job import job_settings, keyed_graph, running

SLOTS, VERTICES = 50, 3
_LIMIT_S = 120.0


def test_fifty_slots_are_started_reported_and_checkpointed(tmp_path: Path) -> None:
    graph = keyed_graph(SLOTS, VERTICES)
    settings = job_settings(str(tmp_path), SLOTS, VERTICES, further={"spark.master": "simulated"})
    with running(graph, settings, processes=2) as simulated:
        job = simulated.job
        assert job.status() is JobStatus.RUNNING
        # One message to each of them, the same to all; nothing else is sent before they are ready.
        begin = len(Begin.of(job._attempts.runner.addresses.values()).packed)  # type: ignore[union-attr]
        assert SLOTS * begin < simulated.sent_bytes < SLOTS * (begin + 200)

        end = time.monotonic() + _LIMIT_S
        while sum(map(len, job.view().metrics.tasks.values())) < SLOTS * VERTICES:
            assert time.monotonic() < end, "not all subtasks have reported"
            time.sleep(0.05)
        assert job.view().state_counts == {ExecutionState.RUNNING: SLOTS * VERTICES}

        number = job.checkpoint().result(_LIMIT_S)
        last = job.view().checkpoints.last_checkpoint
        assert last is not None and last.id == number
        assert sorted(each.slot for each in last.slots) == list(range(SLOTS))
        written = read_checkpoint(last.path)
        assert {(each.path.partition("-")[0], each.subtask) for each in written.snapshots} >= {
            (str(vertex.id), slot) for vertex in job.view().vertices[1:] for slot in range(SLOTS)
        }
        (state,) = (written.source(operator_id) for operator_id in written.sources)
        splits = [split.id for left in state.unfinished.values() for split, _ in left]
        assert sorted(splits) == sorted(f"topic-{number}" for number in range(2 * SLOTS)), "each is read by one subtask"

        vertex = job.view().vertices[1].operators[0].id
        answer = DirectAnswers(Cluster(JobDirectory(str(tmp_path)))).of(f"/jobs/{job.job_id}/vertices/{vertex}")
        assert answer is not None and answer().status == 200
        assert answer().content.count(b'"subtask":') == SLOTS
    assert job.status() is JobStatus.CANCELED
    assert not any(process.is_alive() for process in simulated.processes)
    assert os.path.exists(last.path) is False, "the checkpoints of a cancelled job are removed"
