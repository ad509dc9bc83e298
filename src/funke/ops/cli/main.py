"""The `funke` command.

Each command loads what it needs when it is called: help and rejections answer at once, without the engine.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import select
import sys
from collections.abc import Callable, Sequence

from funke import __version__
from funke.engine.errors import ConfigurationError, did_you_mean
from funke.ops.cli.arguments import ProgramCall, parse_program_call
from funke.ops.cli.error_report import print_error
from funke.ops.cli.program import prepare_program
from funke.ops.cli.properties import settings_with

__all__ = ["COMMANDS", "command_of", "main", "main_of_module", "reporting", "run"]

HELP = """\
usage: funke run [options] program.py [arguments of the program]
       funke info [options] program.py [arguments of the program]
       funke sql [-e statements | -f file]
       funke list [-r] [-s] [-a]
       funke status <job id>
       funke logs [-f | --level DEBUG] <job id>
       funke top [--once]
       funke cancel <job id>
       funke savepoint <job id> [folder] | -d <savepoint>
       funke stop [-d] [-p folder] <job id>
       funke checkpoint [-full] <job id>
       funke recover <job id> | --all | --watch
       funke start-cluster [--standby] | stop-cluster [--keep-jobs] | dashboard
       funke memory | doctor | docs | completion bash|zsh|fish
       funke --version

  run        run a PyFlink program on Spark; python -m funke program.py does the same
  info       show the program's graphs and plan without running it
  sql        run SQL statements: those given, those of a file, or as you type them; funke sql --help
  list       show running jobs and those whose driver is gone; -a: also those that have ended
  status     show how a job stands: its driver, what holds it up, its last checkpoint, its failures
  logs       show what the program of a job has printed, if the service runs it; -f: go on; --level: log more or less
  top        show running jobs and how busy their operators are, live; q ends it
  cancel     end a running job
  savepoint  write down the state of a running job, which goes on; -d: remove a savepoint
  stop       end a running job with a savepoint; -d: let all timers fire before
  checkpoint take a checkpoint before the next one is due
  start-cluster, stop-cluster
             the service: it runs programs that `run -d` hands to it, and serves REST on 127.0.0.1:8081
  dashboard  open the service's pages in a browser, which needs the link of this command to be let in
  recover    go on with jobs whose driver is gone; --watch: stay, and do so whenever one is

  memory     show Flink's memory model for the configuration
  doctor     look whether Java, Python, Spark, ports, storage and clocks are as they should be
  docs       show the documentation in a browser, without a network
  completion print what completes commands, options and job ids in a shell; funke completion --help

Every command but sql takes --json. A job is named by its id or the start of it. Only jobs with checkpointing can be
recovered.

Options of run and info stand before the program, as in `flink run`: -p, -s, -py, -pyfs, -D key=value and more, see
funke run --help. What the program sets itself wins over options, options win over config.yaml in FUNKE_CONF_DIR.
"""
INTERRUPTED = 130
# As a process that SIGPIPE ends.
NOBODY_READS = 141
# The function of each command and the module, beside this one, that holds it.
_JOB_COMMANDS = {
    "list": ("job_commands", "list_jobs"),
    "status": ("job_commands", "show_status"),
    "cancel": ("job_commands", "cancel_job"),
    "savepoint": ("snapshot_commands", "take_savepoint"),
    "stop": ("snapshot_commands", "stop_job"),
    "checkpoint": ("snapshot_commands", "take_checkpoint"),
    "recover": ("recover", "recover"),
    "logs": ("logs", "show_logs"),
    "top": ("top", "show_top"),
    "doctor": ("doctor", "examine"),
    "memory": ("memory", "show_memory"),
    "start-cluster": ("cluster_commands", "start_cluster"),
    "stop-cluster": ("cluster_commands", "stop_cluster"),
    "dashboard": ("cluster_commands", "open_dashboard"),
    "docs": ("docs", "show_docs"),
    "completion": ("completion", "show_completion"),
}


COMMANDS = ("run", "run-application", "info", "sql", *_JOB_COMMANDS)


def command_of(name: str) -> Callable[[list[str]], None]:
    """What runs a command that is not about a program."""
    if name == "sql":
        from funke.ops.cli.sql.command import sql

        return sql
    return _job_command(name)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit code. The reader of its output may leave early."""
    try:
        code = _main(list(sys.argv[1:] if arguments is None else arguments))
        sys.stdout.flush()
    except BrokenPipeError:
        # What is left in the buffer goes nowhere, so that Python has nothing to complain of when it ends.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
        return NOBODY_READS
    return code


def _main(arguments: list[str]) -> int:
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        from funke.ops.cli.terminal import show_help

        show_help(HELP)
        return 0 if arguments else 2
    if arguments[0] in ("-v", "-V", "--version", "version"):
        print(f"funke {__version__}")
        return 0
    if arguments[0] == "sql":
        return reporting(lambda: _sql(arguments[1:]))
    if arguments[0] in _JOB_COMMANDS:
        return reporting(lambda: _job_command(arguments[0])(arguments[1:]))
    commands: dict[str, Callable[[ProgramCall], None]] = {
        "run": _run_with(arguments[1:]),
        # In the service, which is where the program's main part runs.
        "run-application": _run_with(["-d", *arguments[1:]]),
        "info": _info,
    }
    if arguments[0] not in commands:
        meant = did_you_mean(arguments[0], (*COMMANDS, "help", "version"))
        hint = (
            f"; to run it: funke run {arguments[0]}"
            if arguments[0].endswith(".py")
            else meant or "; see `funke --help`"
        )
        return reporting(lambda: _reject(f"there is no command '{arguments[0]}'{hint}"))
    options = ["-d", *arguments[1:]] if arguments[0] == "run-application" else arguments[1:]
    return reporting(lambda: commands[arguments[0]](_program_call(arguments[0], options)))


def main_of_module(arguments: Sequence[str]) -> int:
    """Run `python -m funke`, where the command may be left out."""
    names = (*COMMANDS, "help", "version", "-h", "--help", "--version")
    is_command = not arguments or arguments[0] in names
    return main(arguments if is_command else ["run", *arguments])


def _job_command(name: str) -> Callable[[list[str]], None]:
    module, function = _JOB_COMMANDS[name]
    command: Callable[[list[str]], None] = getattr(importlib.import_module(f"funke.ops.cli.{module}"), function)
    return command


def _sql(arguments: list[str]) -> None:
    from funke.ops.cli.sql.command import sql

    # Like a program: inserts that still run at the end are waited for.
    run(lambda: sql(arguments), [sys.executable, "-m", "funke", "sql", *arguments])


def _info(call: ProgramCall) -> None:
    program = prepare_program(call)
    from funke.ops.cli.info import info

    info(program, call.is_json)


def _run_with(arguments: list[str]) -> Callable[[ProgramCall], None]:
    command = [sys.executable, "-m", "funke", "run", *arguments]

    def run_call(call: ProgramCall) -> None:
        if _has_driver_in_cluster(call):
            from funke.ops.yarn.submission import run_on_yarn

            run_on_yarn(call)
        elif call.is_for_service:
            from funke.ops.cli.cluster_commands import run_in_service

            run_in_service(call)
        elif call.is_json:
            raise ConfigurationError("--json goes with -d or -t remote: here the program itself prints")
        else:
            program = prepare_program(call)
            _start_spark_early()
            run(program, command)

    return run_call


def _start_spark_early() -> None:
    """While the program loads what it needs: it waits half a second less."""
    before = set(os.environ)
    # What is configured wrongly is rejected where it is used.
    with contextlib.suppress(ConfigurationError):
        from funke.engine.config.job_defaults import job_defaults
        from funke.engine.runtime.spark.spark_session import prepare_spark

        prepare_spark(job_defaults().to_text_dict())
    # The program finds the environment of its user; Spark's variables come back when it submits a job.
    for name in set(os.environ) - before:
        del os.environ[name]


def _has_driver_in_cluster(call: ProgramCall) -> bool:
    """Whether the program runs on the cluster as well, and not only the slots of its jobs."""
    settings = settings_with([f"{key}={value}" for key, value in call.options.items()])
    return str(settings.raw("spark.submit.deployMode", "client")) == "cluster"


def run(program: Callable[[], None], command: list[str]) -> None:
    """Run the program and wait for the jobs it has left running; when it is interrupted, cancel them."""
    from funke.datastream.job_submission import submitting_with
    from funke.datastream.unexecuted import forget_unexecuted, tell_unexecuted
    from funke.engine.jobs.records.recovery import ProgramRun
    from funke.ops.cli.job_list import JobList

    jobs = JobList(ProgramRun.of_this_process(command))
    try:
        with submitting_with(jobs):
            program()
        tell_unexecuted()
        jobs.wait()
    except SystemExit as ended:
        if ended.code in (None, 0):
            tell_unexecuted()
            jobs.wait()
        raise
    finally:
        forget_unexecuted()
        jobs.cancel()


def _program_call(command: str, arguments: list[str]) -> ProgramCall:
    call = parse_program_call(arguments, command)
    if not call.has_program:
        raise ConfigurationError(f"name the program, as in `funke {command} job.py`")
    return call


def _reject(message: str) -> None:
    raise ConfigurationError(message)


def reporting(action: Callable[[], None]) -> int:
    try:
        action()
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except Exception as error:
        if isinstance(error, BrokenPipeError) and _has_lost_its_reader():
            raise
        print_error(error)
        return 1
    return 0


def _has_lost_its_reader() -> bool:
    """Whether the reader of standard output has gone."""
    with contextlib.suppress(OSError, ValueError):
        looking = select.poll()
        looking.register(sys.stdout.fileno(), 0)
        return any(event & (select.POLLERR | select.POLLHUP) for _, event in looking.poll(0))
    return False
