"""A program as the service starts it, without Spark: submits a job, holds its lease, answers commands, and ends."""

from __future__ import annotations

import os
import signal
import sys
import threading
from dataclasses import replace

from funke.engine.config.job_defaults import put_command_line_options
from funke.engine.connectors.sequence import SequenceSource
from funke.engine.errors import RecoveryRejectedError
from funke.engine.graph.execution_graph import ExecutionState
from funke.engine.graph.operations import ReadSource
from funke.engine.jobs.attempts.job_executions import JobExecutions
from funke.engine.jobs.attempts.slot_pool import SlotPool
from funke.engine.jobs.control import ControlServer
from funke.engine.jobs.records.recovery import ProgramRun
from funke.engine.jobs.settings import JobSettings
from funke.engine.jobs.views.job_view import JobView
from funke.engine.jobs.views.view_making import planned_view, with_executions
from funke.engine.planner.chaining import to_job_graph
from funke.engine.planner.plan import to_plan
from funke.engine.types.job_status import JobStatus
from funke.ops.cli.arguments import parse_program_call
from tests.unit.graph.sample_graphs import GraphBuilder


def running_view(job_id: str) -> JobView:
    """A job with one subtask, which runs."""
    builder = GraphBuilder(1)
    builder._add(ReadSource(SequenceSource(0, 1)), "numbers", [])
    job_graph = to_job_graph(builder.graph)
    plan = to_plan(job_graph)
    executions = JobExecutions(job_graph, plan)
    executions.begin(0)
    executions.enter(ExecutionState.RUNNING)
    view = planned_view(job_id, builder.graph, job_graph, plan, {})
    return replace(with_executions(view, executions, {}), status=JobStatus.RUNNING)


def main() -> None:
    # python -m funke run …
    arguments = sys.argv[4:]
    call = parse_program_call(arguments)
    put_command_line_options(call.options)
    print("the program runs", *call.arguments, flush=True)
    if "fail" in call.arguments:
        sys.exit(3)
    run = ProgramRun.of_this_process([os.environ["FAKE_PYTHON"], "-m", "funke", "run", *arguments])
    configuration = {"execution.checkpointing.interval": "1 s", **call.options}
    admitted = run.admit(JobSettings("fake", configuration))
    assert isinstance(admitted, JobSettings) and admitted.record is not None
    record, over = admitted.record, threading.Event()

    def end(*_: object) -> str:
        record.put_status(JobStatus.CANCELED)
        record.release()
        over.set()
        return "/configured/savepoint-1"

    def savepoint(folder: str | None, afterwards: str) -> str:
        return end() if folder is None else end() and f"{folder}/savepoint-1"

    if call.options.get("parallelism.default") == os.environ.get("FAKE_UNSTARTABLE", "none"):
        if "FAKE_DEATH" in os.environ:
            os.kill(os.getpid(), signal.SIGKILL)
        record.put_failure(RuntimeError("it does not start"))
        record.put_status(JobStatus.FAILED)
        record.release()
        sys.exit(1)
    if os.path.exists("damaged"):
        record.put_checkpoint("/checkpoints/chk-1")
        record.give_up(RecoveryRejectedError("chk-1 is damaged"))
        sys.exit(1)
    server = ControlServer(record.record.control_path, {"cancel": end, "savepoint": savepoint})
    pool = SlotPool(call.options["funke.slot-pool"])
    with pool.slots(record.job_id, int(os.environ.get("FAKE_SLOTS", "1")), 60, print, over.is_set):
        if not over.is_set():
            record.put_view(running_view(record.job_id))
            record.put_status(JobStatus.RUNNING)
        over.wait(120)
    server.close()


if __name__ == "__main__":
    main()
