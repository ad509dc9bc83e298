"""What an interrupt (Ctrl-C, or the stop button of a notebook) does to the job whose results the program waits for."""

from __future__ import annotations

import contextlib
import sys
import weakref
from collections.abc import Iterator
from concurrent.futures import wait
from typing import TYPE_CHECKING, Any

from funke.engine.errors import shown_shortly

if TYPE_CHECKING:
    from funke.engine.jobs.job import SubmittedJob

__all__ = ["cancel_interrupted", "cancelled_by_interrupt", "watch_cell"]

CANCEL_TIMEOUT_S = 30
# Of jobs whose elements a notebook reads.
_read_in_cells: weakref.WeakSet[SubmittedJob] = weakref.WeakSet()


def cancel_interrupted(job: SubmittedJob, interrupt: KeyboardInterrupt) -> None:
    """Cancel a job; the interrupt goes on to the program, also when the job is slow to stop."""
    wait([job.cancel()], CANCEL_TIMEOUT_S)
    shown_shortly(interrupt)


@contextlib.contextmanager
def cancelled_by_interrupt(job: SubmittedJob) -> Iterator[None]:
    """Cancels the job when the wait for it is interrupted."""
    try:
        yield
    except KeyboardInterrupt as interrupt:
        cancel_interrupted(job, interrupt)
        raise


def watch_cell(job: SubmittedJob) -> None:
    """In a notebook, cancels the job also when its reader is interrupted between two elements: the process goes on."""
    if "IPython" not in sys.modules:
        return
    shell = sys.modules["IPython"].get_ipython()
    if shell is None:
        return
    if not _read_in_cells:
        with contextlib.suppress(ValueError):  # it is not registered yet
            shell.events.unregister("post_run_cell", _cell_has_run)
        shell.events.register("post_run_cell", _cell_has_run)
    _read_in_cells.add(job)


def _cell_has_run(result: Any) -> None:
    if isinstance(result.error_in_exec, KeyboardInterrupt):
        jobs = [job for job in _read_in_cells if not job.result_future.done()]
        wait([job.cancel() for job in jobs], CANCEL_TIMEOUT_S)
