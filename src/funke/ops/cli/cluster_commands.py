"""`funke start-cluster`, `dashboard`, `stop-cluster` and `run -d`: the service, and programs that are handed to it."""

from __future__ import annotations

import html
import os
import sys
import webbrowser
from pathlib import Path

from funke.engine.errors import ConfigurationError
from funke.engine.jobs.records.job_record import home_folder
from funke.ops.cli.arguments import ProgramCall
from funke.ops.cli.properties import settings_with
from funke.ops.cli.terminal import finish, new_parser, print_json, say, waiting
from funke.ops.service.client import ServiceClient, start_service
from funke.ops.service.service_folder import ServiceFolder

__all__ = ["open_dashboard", "run_in_service", "start_cluster", "stop_cluster"]


def start_cluster(arguments: list[str]) -> None:
    """Start the service in the background."""
    parser = new_parser("start-cluster", "starts the service: it runs programs, and serves REST")
    parser.add_argument("--standby", action="store_true", help="wait, and take over when the service is gone")
    options = parser.parse_args(arguments)
    folder = ServiceFolder(home_folder(settings_with(options.properties)))
    folder.await_owner()
    address = folder.address()
    if address is not None and not options.standby:
        raise ConfigurationError(f"the service runs already: process {address.pid}, {address.url}")
    with waiting("starting the service"):
        started = start_service(folder, options.properties, options.standby)
    if started is None:
        say(options, f"A standby waits for the service of {folder.home}.")
        finish(options, home=folder.home, is_standby=True)
        return
    link = ServiceClient(folder).dashboard_url()
    say(options, f"Starting cluster. Process {started.pid}, {started.url}")
    say(options, f"Jobs and logs are kept in {folder.home}. To run a program: funke run -d program.py")
    if link != started.url:
        say(options, f"The dashboard, for one browser within ten minutes: {link}")
        say(options, "Later, or for another browser: funke dashboard")
    finish(options, pid=started.pid, url=started.url, home=folder.home, dashboard=link)


def open_dashboard(arguments: list[str]) -> None:
    """Open the dashboard of the service in a browser, and print the link that lets one in."""
    parser = new_parser("dashboard", "opens the dashboard in a browser; the link that it prints works once")
    parser.add_argument("--no-browser", action="store_true", help="print the link only")
    options = parser.parse_args(arguments)
    folder = ServiceFolder(home_folder(settings_with(options.properties)))
    link = ServiceClient(folder).dashboard_url()
    if not (options.no_browser or options.json) and _has_screen() and _opened(folder, link):
        say(options, "Opened in a browser. A link for another one: funke dashboard --no-browser")
        return
    say(options, link)
    finish(options, dashboard=link)


def _has_screen() -> bool:
    return sys.platform in ("darwin", "win32") or any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))


def _opened(folder: ServiceFolder, link: str) -> bool:
    """Has a browser open the link by way of a private file: every user can read the command line of a browser."""
    page = Path(folder.of("dashboard.html"))
    with open(os.open(page, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600), "w") as out:
        out.write(f'<meta http-equiv="refresh" content="0; url={html.escape(link)}">\n')
    return webbrowser.open(page.as_uri())


def stop_cluster(arguments: list[str]) -> None:
    """End the service, and its jobs."""
    parser = new_parser("stop-cluster", "ends the service and cancels its jobs")
    parser.add_argument("--keep-jobs", action="store_true", help="let jobs go on; the next service finds them")
    options = parser.parse_args(arguments)
    client = ServiceClient(ServiceFolder(home_folder(settings_with(options.properties))))
    address = client.require()
    say(options, f"Stopping cluster (process {address.pid}).")
    with waiting("stopping the service"):
        client.stop(options.keep_jobs)
    say(options, "Stopped.")
    finish(options, pid=address.pid, has_stopped=True)


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
