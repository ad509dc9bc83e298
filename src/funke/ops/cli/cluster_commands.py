"""`funke start-cluster`, `stop-cluster` and `run -d`: the service, and programs that are handed to it."""

from __future__ import annotations

import os

from funke.engine.errors import ConfigurationError
from funke.engine.jobs.records.job_record import home_folder
from funke.ops.cli.arguments import ProgramCall
from funke.ops.cli.properties import settings_with
from funke.ops.cli.terminal import finish, new_parser, print_json, say, waiting
from funke.ops.service.client import ServiceClient, start_service
from funke.ops.service.service_folder import ServiceFolder

__all__ = ["run_in_service", "start_cluster", "stop_cluster"]


def start_cluster(arguments: list[str]) -> None:
    """Start the service in the background."""
    parser = new_parser("start-cluster", "starts the service: it runs programs, and serves REST")
    parser.add_argument("--standby", action="store_true", help="wait, and take over when the service is gone")
    given = parser.parse_args(arguments)
    folder = ServiceFolder(home_folder(settings_with(given.properties)))
    known = folder.address()
    if known is not None and not given.standby:
        raise ConfigurationError(f"the service runs already: process {known.pid}, {known.url}")
    with waiting("starting the service"):
        started = start_service(folder, given.properties, given.standby)
    if started is None:
        say(given, f"A standby waits for the service of {folder.home}.")
        finish(given, home=folder.home, is_standby=True)
        return
    say(given, f"Starting cluster. Process {started.pid}, {started.url}")
    say(given, f"Jobs and logs are kept in {folder.home}. To run a program: funke run -d program.py")
    finish(given, pid=started.pid, url=started.url, home=folder.home)


def stop_cluster(arguments: list[str]) -> None:
    """End the service, and its jobs."""
    parser = new_parser("stop-cluster", "ends the service and cancels its jobs")
    parser.add_argument("--keep-jobs", action="store_true", help="let jobs go on; the next service finds them")
    given = parser.parse_args(arguments)
    client = ServiceClient(ServiceFolder(home_folder(settings_with(given.properties))))
    address = client.require()
    say(given, f"Stopping cluster (process {address.pid}).")
    with waiting("stopping the service"):
        client.stop(given.keep_jobs)
    say(given, "Stopped.")
    finish(given, pid=address.pid, has_stopped=True)


def run_in_service(call: ProgramCall) -> None:
    """Hand a program to the service; with it detached, wait for its first job only."""
    settings = settings_with([f"{key}={value}" for key, value in call.options.items()])
    client = ServiceClient(ServiceFolder(home_folder(settings)))
    client.require(call.service)
    with waiting("waiting for the program's first job"):
        run_id = client.submit(call.to_arguments(), os.getcwd())
        job_id = client.wait_for_job(run_id)
    if call.is_json:
        print_json({"jobid": job_id})
    else:
        print(f"Job has been submitted with JobID {job_id}", flush=True)
    if not call.is_detached:
        with waiting("the program runs"):
            client.wait_for_end(run_id)
        if not call.is_json:
            print("Program execution finished")
