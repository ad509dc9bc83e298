"""The process of the SQL gateway: `python -m funke.ops.gateway.process`; it ends with the service that started it.

Statements of all sessions share its Spark session. The service knows it by a socket for commands in its own folder.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from typing import Any

from funke.engine.config import rest_options as options
from funke.engine.config.job_defaults import put_command_line_options
from funke.engine.config.settings import Settings
from funke.engine.jobs.attempts.progress import ProgressLine
from funke.engine.jobs.control import Commands, ControlServer
from funke.ops.gateway.sessions import CONFIGURE_S, Sessions

__all__ = ["LONGEST_COMMAND", "commands_of", "main"]

# A statement of the longest request that the interface takes, as JSON.
LONGEST_COMMAND = 8 << 20
# Without sessions, the process and its Spark end after this time.
_IDLE_S = 600.0
_SHORTEST_PAUSE_S = 0.1


def main() -> int:
    """Serve sessions until the service at the other end of the pipe is gone, or none has been there for long."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    configuration: dict[str, Any] = json.loads(sys.stdin.readline() or "{}")
    put_command_line_options(configuration["options"])
    ProgressLine.is_wanted = False
    settings = Settings(configuration["settings"])
    sessions = Sessions(
        settings.get(options.GATEWAY_MOST_SESSIONS),
        settings.get(options.GATEWAY_IDLE_TIMEOUT).to_millis(),
        # What writes goes on when its session, and this process, have ended.
        {"execution.target": "remote"},
    )
    control = ControlServer(configuration["socket"], commands_of(sessions), {"configure": CONFIGURE_S}, LONGEST_COMMAND)
    is_over = threading.Event()
    threading.Thread(target=_await_end, args=(is_over,), daemon=True).start()
    with open(int(sys.argv[1]), "wb") as ready_pipe:
        ready_pipe.write(b"r")
    pause_s = max(_SHORTEST_PAUSE_S, settings.get(options.GATEWAY_CHECK_INTERVAL).to_millis() / 1000)
    while not is_over.wait(pause_s):
        empty_s = sessions.close_idle()
        if empty_s is not None and empty_s > _IDLE_S:
            break
    control.close()
    sessions.close_all()
    return 0


def _await_end(is_over: threading.Event) -> None:
    while os.read(sys.stdin.fileno(), 1024):
        pass
    is_over.set()


def commands_of(sessions: Sessions) -> Commands:
    """What clients may ask."""
    return {
        "open": sessions.open,
        "close": sessions.close,
        "touch": sessions.touch,
        "settings": sessions.settings,
        "configure": sessions.configure,
        "execute": sessions.execute,
        "status": sessions.status,
        "cancel": sessions.cancel,
        "close_operation": sessions.close_operation,
        "fetch": sessions.fetch,
        "complete": sessions.complete,
    }


if __name__ == "__main__":
    from funke.ops.gateway.process import main as run

    sys.exit(run())
