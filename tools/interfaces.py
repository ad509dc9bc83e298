"""Writes docs/rest.md and docs/cli.md from the routes and the parsers.

python tools/interfaces.py            write the pages
python tools/interfaces.py --check    fail if a page is not what the code says
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Iterator
from pathlib import Path

from funke.ops.cli.completion import actions_of
from funke.ops.cli.main import COMMANDS
from funke.ops.rest.call import Route
from funke.ops.rest.routes import ROUTES

DOCS = Path(__file__).resolve().parents[1] / "docs"
REST = """# REST paths

Every path of the service, with or without `/v1` in front. [The service](service.md) describes access, differences from
Flink, and examples; `/openapi.json` describes bodies and answers as OpenAPI. Paths that begin with `/funke` are not
Flink's.

`python tools/interfaces.py` writes this page.
"""
CLI = """# Command line

Every command with its options. [Operating jobs](operations.md#commands) describes what they do. A job is named by its
id or the first characters of it. `funke completion bash`, `zsh` or `fish` prints what completes all of this in a shell.

`python tools/interfaces.py` writes this page.
"""
_OF_PROGRAMS = ("run", "run-application", "info")
# Each command has these.
_COMMON = {"-h", "--help", "--json", "-D", "-m", "--jobmanager"}
_COMMON_TEXT = """
All commands take `-h` (help). Those that are about jobs or the service take `-D key=value` (any option), `--json` (one
JSON document, for scripts), and `-m HOST:PORT` (the service that must be theirs) where there is one to be named.
"""


def main(arguments: list[str]) -> int:
    pages = {DOCS / "rest.md": "\n".join(rest_lines()) + "\n", DOCS / "cli.md": "\n".join(cli_lines()) + "\n"}
    if arguments == ["--check"]:
        return int(any(path.read_text(encoding="utf-8") != text for path, text in pages.items()))
    for path, text in pages.items():
        path.write_text(text, encoding="utf-8")
    return 0


def rest_lines() -> Iterator[str]:
    """The page of paths, by their first part."""
    yield REST.rstrip()
    for part, routes in itertools.groupby(sorted(ROUTES, key=_order), key=lambda each: each.path.split("/")[1]):
        yield f"\n## /{part}\n\n| | path | what it does |\n|---|---|---|"
        yield from (f"| {each.method} | `{each.path}` | {each.summary}{_parameters(each)} |" for each in routes)


def _order(route: Route) -> tuple[str, str, str]:
    return route.path.split("/")[1], route.path, route.method


def _parameters(route: Route) -> str:
    return "".join(f"; `{each.name}`: {each.description}" for each in route.query).replace("|", "\\|")


def cli_lines() -> Iterator[str]:
    """The page of commands."""
    yield CLI.rstrip()
    yield _COMMON_TEXT.rstrip()
    for command in sorted(COMMANDS):
        actions = [each for each in actions_of(command) if not _COMMON & set(each.option_strings)]
        arguments = ["[options] program.py [arguments of the program]"] if command in _OF_PROGRAMS else []
        arguments += [_argument(each) for each in actions if not each.option_strings]
        yield f"\n## {command}\n\n`{' '.join(['funke', command, *arguments])}`"
        options = [each for each in actions if each.option_strings]
        if options:
            yield "\n| option | |\n|---|---|"
            yield from (f"| {_names(each)} | {each.help or ''} |" for each in options)


def _argument(action: argparse.Action) -> str:
    if action.choices is not None:
        return "|".join(map(str, action.choices))
    name = f"<{action.dest.replace('_', ' ')}>"
    return f"[{name}]" if action.nargs in ("?", "*") else name


def _names(action: argparse.Action) -> str:
    value = "" if action.nargs == 0 else f" {action.metavar or _choices(action)}"
    return ", ".join(f"`{each}`" for each in action.option_strings) + value.replace("|", "\\|")


def _choices(action: argparse.Action) -> str:
    return "|".join(map(str, action.choices)) if action.choices is not None else action.dest.upper()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
