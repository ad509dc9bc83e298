"""The process of the service: `python -m funke.ops.service.serve [-D key=value …] [--standby]`."""

from __future__ import annotations

import argparse
import logging
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Sequence

from funke.engine.config import flink_options as options
from funke.engine.config.job_defaults import take_hidden_options
from funke.engine.config.log_format import log_formatter
from funke.engine.config.settings import Settings
from funke.engine.errors import ConfigurationError, FunkeError, LeaseLostError
from funke.engine.jobs.control import Commands, ControlServer
from funke.engine.jobs.records.job_record import home_folder
from funke.engine.jobs.records.lease import Lease
from funke.engine.trust.run_folders import remove_abandoned_once
from funke.ops.alarms.acknowledgements import Acknowledgements
from funke.ops.cli.properties import settings_with
from funke.ops.dashboard.pages import dashboard_pages
from funke.ops.gateway.gateway import Gateway
from funke.ops.history.metric_history import MetricHistory
from funke.ops.history.sampling import start_sampling
from funke.ops.metrics.reporters import start_reporters
from funke.ops.rest.answering import DirectAnswers
from funke.ops.rest.app import make_app
from funke.ops.rest.cluster_state import Cluster, LogFolder
from funke.ops.rest.job_directory import JobDirectory
from funke.ops.rest.server import RestServer, RestSettings
from funke.ops.service.dispatcher import Dispatcher, run_status
from funke.ops.service.service_folder import LEASE_TIMEOUT_S, ServiceAddress, ServiceFolder

__all__ = ["main", "serve"]

_LOG = logging.getLogger("funke.service")
_LOOK_S = 1.0
_LIMITS_S = {"submit": 60.0, "shutdown": 30.0}


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the service until it is stopped."""
    parser = argparse.ArgumentParser(prog="funke service", allow_abbrev=False)
    parser.add_argument("-D", dest="properties", action="append", default=[], metavar="key=value")
    parser.add_argument("--standby", action="store_true")
    command_line = parser.parse_args(arguments)
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(log_formatter("text"))
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    try:
        settings = settings_with(command_line.properties)
        settings.update(Settings(take_hidden_options()))
        handler.setFormatter(log_formatter(settings.get(options.LOG_FORMAT)))
        serve(settings, command_line.standby)
    except FunkeError as error:
        _LOG.error("%s", error)
        return 1
    return 0


def serve(settings: Settings, is_standby: bool = False) -> None:
    """Runs the service in this process; a standby first waits until there is no other."""
    folder = ServiceFolder(home_folder(settings))
    listening = RestSettings.of(settings, folder.local_home)
    folder.open()
    lease = _acquire(folder, is_standby)
    try:
        _serve(settings, listening, folder, lease, is_standby)
    finally:
        lease.release()


def _acquire(folder: ServiceFolder, is_standby: bool) -> Lease:
    while True:
        try:
            return Lease.acquire(folder.stored, LEASE_TIMEOUT_S)
        except LeaseLostError as error:
            if not is_standby:
                raise LeaseLostError(f"a service runs already: {error}") from error
        time.sleep(_LOOK_S)


def _serve(settings: Settings, listening: RestSettings, folder: ServiceFolder, lease: Lease, is_standby: bool) -> None:
    started_ms = int(time.time() * 1000)
    jobs = JobDirectory(folder.home)
    dispatcher = Dispatcher(folder, settings, jobs, lease.check)
    gateway = Gateway(folder, settings, dispatcher.job_options())
    # Statements read and write files: without a token, a client that sends them could as well send programs.
    is_open = listening.access.token is None and not dispatcher.is_upload_allowed
    cluster = Cluster(
        jobs,
        settings.to_text_dict(),
        LogFolder(folder.of("logs")),
        dispatcher,
        dispatcher,
        dispatcher.rescales,
        None if is_open else gateway,
        started_ms=started_ms,
        history=MetricHistory(folder.of("history")),
        acknowledgements=Acknowledgements(folder.of("acknowledged.json")),
        is_service_run=lambda run_id: dispatcher.runs.find(run_id) is not None,
    )
    for number in (signal.SIGTERM, signal.SIGINT):
        # A service that the system stops leaves its jobs running: it may be started again.
        signal.signal(number, lambda *_: dispatcher.shut_down(is_cancelling=False))
    app = make_app(cluster, listening.access, dashboard_pages(cluster.logs, DirectAnswers(cluster).of))
    server = _bound_server(lambda: RestServer(app, listening), dispatcher, is_standby)
    commands = _commands(dispatcher, lambda: listening.access.dashboard_url(server.url))
    control = ControlServer(folder.control_path, commands, _LIMITS_S)
    closing: list[Callable[[], None]] = []
    try:
        jobs.all()
        server.start()
        folder.put_address(ServiceAddress(os.getpid(), socket.gethostname(), server.url, started_ms))
        closing = [*start_reporters(settings, cluster, folder.local_home), start_sampling(cluster)]
        _LOG.info("serving %s for %s", server.url, folder.home)
        remove_abandoned_once()
        _look(dispatcher)
        while not dispatcher.stopping.wait(_LOOK_S):
            _look(dispatcher)
    except LeaseLostError:
        # It was stopped for longer than its lease: another service has its jobs.
        dispatcher.shut_down(is_cancelling=False)
        raise
    finally:
        dispatcher.close()
        for close in closing:
            close()
        gateway.close()
        control.close()
        server.close()
        _LOG.info("ended")


def _bound_server(make: Callable[[], RestServer], dispatcher: Dispatcher, is_standby: bool) -> RestServer:
    """The server of REST; where one that was stopped still holds the port, jobs come first."""
    is_reported = False
    while True:
        try:
            return make()
        except ConfigurationError as error:
            if not is_standby or dispatcher.stopping.is_set():
                raise
            if not is_reported:
                _LOG.warning("%s; jobs are looked after until then", error)
            is_reported = True
        _look(dispatcher)
        dispatcher.stopping.wait(_LOOK_S)


def _look(dispatcher: Dispatcher) -> None:
    dispatcher.guard()
    try:
        dispatcher.look()
        dispatcher.keep_warm()
    except LeaseLostError:
        raise
    except (FunkeError, OSError) as error:  # a disk that is full now may not be so in a second
        _LOG.error("%s", error)


def _commands(dispatcher: Dispatcher, dashboard_url: Callable[[], str]) -> Commands:
    return {
        "dashboard": dashboard_url,
        "submit": dispatcher.start,
        "run": lambda run_id: run_status(dispatcher, run_id),
        "shutdown": lambda keep_jobs: dispatcher.shut_down(not keep_jobs),
    }


if __name__ == "__main__":
    sys.exit(main())
