"""The process that serves pages about a program's own jobs; it ends with the program."""

from __future__ import annotations

import json
import logging
import os
import signal
import sys

from funke.engine.config.settings import Settings
from funke.engine.errors import FunkeError
from funke.engine.jobs.records.job_record import home_folder
from funke.engine.jobs.submission.own_pages import has_rest
from funke.ops.dashboard.pages import dashboard_pages
from funke.ops.history.sampling import start_sampling
from funke.ops.metrics.reporters import start_reporters
from funke.ops.rest.answering import DirectAnswers
from funke.ops.rest.app import make_app
from funke.ops.rest.cluster_state import Cluster
from funke.ops.rest.job_directory import JobDirectory
from funke.ops.rest.server import RestServer, RestSettings
from funke.ops.service.service_folder import ServiceFolder

__all__ = ["main"]


def main() -> int:
    """Serves until the program at the other end of the pipe is gone."""
    # Ctrl-C is for the program; what follows from it is seen when the pipe ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    configuration = json.loads(sys.stdin.readline() or "{}")
    settings = Settings(configuration.get("settings", {}))
    home_folder(settings)  # where records are in a store of another machine, its settings are needed
    home = ServiceFolder(configuration["home"])
    cluster = Cluster(JobDirectory(home.home), settings.to_text_dict())
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    logging.getLogger("uvicorn").setLevel(logging.WARNING)
    closing = [*start_reporters(settings, cluster, home.local_home), start_sampling(cluster)]
    try:
        if has_rest(settings):
            listening = RestSettings.of(settings, home.local_home)
            server = RestServer(
                make_app(cluster, listening.access, dashboard_pages(cluster.logs, DirectAnswers(cluster).of)), listening
            ).start()
            closing.append(server.close)
            print(f"The job's pages: {listening.access.dashboard_url(server.url)}", file=sys.stderr, flush=True)
    except FunkeError as error:
        print(f"warning: there are no pages about the job: {error}", file=sys.stderr)
        if len(closing) == 1:  # no reporter either
            return 1
    while os.read(sys.stdin.fileno(), 1024):
        pass
    for close in closing:
        close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
