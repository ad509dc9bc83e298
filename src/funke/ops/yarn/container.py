"""The main program of an application's first container: runs the user's program there; spark-submit starts this file.

YARN starts the container again when it is lost: the program then continues the jobs of the run that it began.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from funke.engine.jobs.records.recovery import RUN_VARIABLE
from funke.engine.runtime.job_files.shared_paths import require_shared
from funke.ops.cli.arguments import ProgramCall
from funke.ops.cli.main import reporting, run
from funke.ops.cli.program import prepare_program
from funke.ops.yarn.application import FILE, Application

__all__ = ["main"]

# Where Spark's client has put those of the host that submitted.
_HADOOP_FILES = os.path.join("__spark_conf__", "__hadoop_conf__")


def main() -> int:
    """Runs the application of this container; returns the exit code."""
    application = Application.from_text(Path(FILE).read_text(encoding="utf-8"))
    return reporting(lambda: _run(application))


def _run(application: Application) -> None:
    if application.home is not None:
        require_shared(application.home)
    os.environ[RUN_VARIABLE] = application.run_id
    if os.path.isdir(_HADOOP_FILES):
        os.environ.setdefault("HADOOP_CONF_DIR", os.path.abspath(_HADOOP_FILES))
    call = ProgramCall(application.file, application.module, application.arguments, application.options)
    run(prepare_program(call), [sys.executable, *sys.argv])


if __name__ == "__main__":
    sys.exit(main())
