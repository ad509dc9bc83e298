"""How commands read their arguments and what they write: plain lines or JSON for scripts, more for people who look.

Colours, tables and progress appear on terminals only. The output to a pipe stays plain, because
scripts read it. Rich is loaded when it is needed: it takes longer than most commands.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NoReturn

from funke.engine.errors import did_you_mean
from funke.engine.types.json_form import to_json

__all__ = [
    "CommandParser",
    "asking_for_options",
    "finish",
    "is_looked_at",
    "new_parser",
    "print_json",
    "say",
    "show_help",
    "show_table",
]
__all__ += ["waiting"]

_HELP_STYLES = {
    r"^(usage:|[a-z][a-z ,-]*:)": "bold",
    r"(?<![\w-])--?[A-Za-z][\w-]*": "cyan",
    r"<[a-z ]+>|\b[A-Z_]{3,}\b": "green",
    r"`[^`]+`": "yellow",
}
_STATUS_STYLES = {
    **dict.fromkeys(("RUNNING", "FINISHED", "ok"), "green"),
    **dict.fromkeys(("FAILED", "FAILING", "FAIL"), "bold red"),
    **dict.fromkeys(("RESTARTING", "CANCELLING", "RECONCILING", "SUSPENDED", "CREATED", "INITIALIZING"), "yellow"),
    "CANCELED": "dim",
}


class _OptionsAreKnown(Exception):
    """Ends a command that was only asked for its options."""


@contextlib.contextmanager
def asking_for_options() -> Iterator[list[argparse.Action]]:
    """A command that is called in this block does nothing but tell its options."""
    actions: list[argparse.Action] = []
    CommandParser.asked = actions
    try:
        with contextlib.suppress(_OptionsAreKnown):
            yield actions
    finally:
        CommandParser.asked = None


class CommandParser(argparse.ArgumentParser):
    """Shows its help in colours, and tells which option may be meant by one that there is not."""

    # While it is set, options are collected here and nothing is parsed.
    asked: list[argparse.Action] | None = None

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Read a command line."""
        if CommandParser.asked is None:
            return super().parse_args(args, namespace)
        CommandParser.asked.extend(self._actions)
        raise _OptionsAreKnown

    def error(self, message: str) -> NoReturn:
        """Reject a command line."""
        options = [each for action in self._actions for each in action.option_strings]
        unknown = message.removeprefix("unrecognized arguments: ").split()[:1] if "unrecognized" in message else []
        super().error(message + "".join(did_you_mean(each.partition("=")[0], options) for each in unknown))

    def print_help(self, file: Any = None) -> None:
        """Write what the command takes."""
        if file is None or file is sys.stdout:
            show_help(self.format_help())
        else:
            super().print_help(file)


def new_parser(command: str, description: str) -> CommandParser:
    """A parser of one command's arguments, with the options that all of them share."""
    parser = CommandParser(prog=f"funke {command}", description=description, allow_abbrev=False)
    parser.add_argument("-D", dest="properties", action="append", default=[], metavar="key=value")
    parser.add_argument("--json", action="store_true", help="one JSON document and nothing else, for scripts")
    return parser


def is_looked_at() -> bool:
    """Whether the output goes to a terminal rather than to a script."""
    return sys.stdout.isatty()


def print_json(content: Any) -> None:
    """Print what scripts read."""
    print(json.dumps(to_json(content), indent=2))


def say(options: argparse.Namespace, text: str) -> None:
    """Print a line for people, which scripts that want JSON do not get."""
    if not options.json:
        print(text, flush=True)


def finish(options: argparse.Namespace, **content: Any) -> None:
    """What a command has done, for scripts that want JSON."""
    if options.json:
        print_json(content)


def show_help(text: str) -> None:
    """Print a help text."""
    if not is_looked_at():
        print(text, end="")
        return
    from rich.console import Console
    from rich.text import Text

    styled = Text(text)
    for pattern, style in _HELP_STYLES.items():
        styled.highlight_regex(f"(?m){pattern}", style)
    Console().print(styled, end="", soft_wrap=True)


def show_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Draw a table; words that tell how something stands have a colour."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    for name in columns:
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell, style=_STATUS_STYLES.get(cell, "")) for cell in row))
    Console().print(table)


@contextlib.contextmanager
def waiting(what: str) -> Iterator[None]:
    """Shows that work goes on, and for how long; gone when it is done."""
    if not (is_looked_at() and sys.stderr.isatty()):
        yield
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(24), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        progress.add_task(what, total=None)
        yield
