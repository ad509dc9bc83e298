"""The plan of a program: its main part runs in a process of its own up to its first job, which is not submitted."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from typing import IO, Any
from uuid import uuid4

from funke.engine.config.job_defaults import hidden_options
from funke.engine.errors import JobExecutionError

__all__ = ["main", "plan_of_program"]

# As long as Flink's client waits for a program's main part.
_LIMIT_S = 60.0
_MOST_LOG_BYTES = 4_000


def plan_of_program(arguments: Sequence[str], working_folder: str, limit_s: float = _LIMIT_S) -> dict[str, Any]:
    """The plan, in the form of Flink's REST interface; JobExecutionError when there is none, with what was printed."""
    with tempfile.TemporaryFile() as plan, tempfile.TemporaryFile() as log:
        exit_code = _run(arguments, working_folder, limit_s, plan, log)
        if exit_code is None:
            raise JobExecutionError(f"the program did not reach its first job within {limit_s:g} s{_end_of(log)}")
        plan.seek(0)
        text = plan.read()
        if exit_code or not text:
            raise JobExecutionError(f"the program has no plan{_end_of(log)}")
        return dict(json.loads(text))


def _run(arguments: Sequence[str], working_folder: str, limit_s: float, plan: IO[bytes], log: IO[bytes]) -> int | None:
    """Runs `main` in a process; its exit code, None if it did not come to an end."""
    command = [sys.executable, "-m", "funke.ops.service.program_plan", str(plan.fileno()), *arguments]
    visible, hidden = hidden_options(command)
    child = subprocess.Popen(
        visible,
        cwd=working_folder,
        env={**os.environ, **hidden},
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        pass_fds=(plan.fileno(),),
    )
    try:
        return child.wait(limit_s)
    except subprocess.TimeoutExpired:
        return None
    finally:
        # Whatever the program has started goes with it.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()


def _end_of(log: IO[bytes]) -> str:
    log.seek(max(0, os.fstat(log.fileno()).st_size - _MOST_LOG_BYTES))
    printed = log.read().decode("utf-8", "replace").strip()
    return f":\n{printed}" if printed else ""


def main(arguments: Sequence[str]) -> int:
    """Writes the plan of a program to a file that is open; returns the exit code."""
    from funke.engine.jobs.views.view_making import planned_view
    from funke.engine.planner.chaining import to_job_graph
    from funke.engine.planner.plan import to_plan
    from funke.ops.cli.arguments import parse_program_call
    from funke.ops.cli.error_report import print_error
    from funke.ops.cli.info import first_job
    from funke.ops.cli.program import prepare_program
    from funke.ops.rest.job_pages import plan_of

    try:
        graph = first_job(prepare_program(parse_program_call(arguments[1:], "info")))
        job_graph = to_job_graph(graph)
        view = planned_view(uuid4().hex, graph, job_graph, to_plan(job_graph), {})
        with open(int(arguments[0]), "w", encoding="utf-8") as file:
            json.dump(plan_of(view), file)
    except Exception as error:
        print_error(error)
        return 1
    return 0


if __name__ == "__main__":
    code = main(sys.argv[1:])
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # threads of the program are not waited for
