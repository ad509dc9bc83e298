"""The main program of an application's first container: runs the user's program there; spark-submit starts this file.

YARN starts the container again when it is lost: the program then continues the jobs of the run that it began.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from funke.engine.config.settings import Settings
from funke.engine.jobs.records.job_record import home_folder, lease_timeout_s, read_records
from funke.engine.jobs.records.recovery import RUN_VARIABLE
from funke.engine.runtime.job_files.shared_paths import require_shared
from funke.engine.runtime.slots.process_ties import end_with_parent
from funke.ops.cli.arguments import ProgramCall
from funke.ops.cli.main import reporting, run
from funke.ops.cli.program import prepare_program
from funke.ops.yarn.application import FILE, Application

__all__ = ["main"]

# Where Spark's client has put those of the host that submitted.
_HADOOP_FILES = os.path.join("__spark_conf__", "__hadoop_conf__")
_LOOK_S = 0.2


def main() -> int:
    """Runs the application of this container; returns the exit code."""
    # The application master, which YARN starts again elsewhere: this driver would go on beside the next one.
    end_with_parent(os.getppid())
    application = Application.from_text(Path(FILE).read_text(encoding="utf-8"))
    return reporting(lambda: _run(application))


def _run(application: Application) -> None:
    if application.home is not None:
        require_shared(application.home)
    if os.path.isdir(_HADOOP_FILES):
        os.environ.setdefault("HADOOP_CONF_DIR", os.path.abspath(_HADOOP_FILES))
    _await_end_of_last_attempt(application)
    os.environ[RUN_VARIABLE] = application.run_id
    call = ProgramCall(application.file, application.module, application.arguments, application.options)
    run(prepare_program(call), [sys.executable, *sys.argv])


def _await_end_of_last_attempt(application: Application) -> None:
    """Waits until the leases of the run are free: on another host only time tells that a driver is gone."""
    settings = Settings(application.options)
    home, end = home_folder(settings), time.monotonic() + 2 * lease_timeout_s(settings)
    records = [record for record in read_records(home) if record.run_id == application.run_id]
    while time.monotonic() < end and any((owner := record.owner()) and owner.is_alive for record in records):
        time.sleep(_LOOK_S)


if __name__ == "__main__":
    sys.exit(main())
