"""`funke docs`: shows the documentation that the package carries."""

from __future__ import annotations

import webbrowser
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from funke.engine.errors import ConfigurationError
from funke.ops.cli.terminal import finish, new_parser, say

__all__ = ["SITE", "show_docs", "site_server"]

SITE = Path(__file__).resolve().parents[1] / "site"


def show_docs(arguments: list[str]) -> None:
    """Serves the pages on loopback until it is interrupted: browsers do not search in pages that are plain files."""
    parser = new_parser("docs", "shows the documentation in a browser; it needs no network")
    parser.add_argument("--path", action="store_true", help="print the folder of the pages and end")
    options = parser.parse_args(arguments)
    if not (SITE / "index.html").exists():
        raise ConfigurationError(
            "this installation has no documentation: it was installed from a clone; run `make docs` there first"
        )
    if options.path:
        say(options, str(SITE))
        finish(options, path=str(SITE))
        return
    with site_server(SITE) as server:
        url = f"http://127.0.0.1:{server.server_port}/"
        say(options, f"The documentation is at {url}; end with Ctrl-C.")
        finish(options, url=url)
        webbrowser.open(url)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            say(options, "")


class _Pages(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Requests are not worth a line."""


def site_server(folder: Path) -> ThreadingHTTPServer:
    """Serves a folder on a free port of this machine alone."""
    return ThreadingHTTPServer(("127.0.0.1", 0), partial(_Pages, directory=str(folder)))
