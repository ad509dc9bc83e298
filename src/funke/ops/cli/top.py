"""`funke top`: running jobs and how busy their operators are, in a table that is drawn again and again."""

from __future__ import annotations

import contextlib
import os
import select
import sys
import time
from collections.abc import Callable, Iterator

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from funke.engine.jobs.views.bottleneck import find_bottleneck
from funke.engine.jobs.views.job_view import JobView, VertexView
from funke.ops.cli.job_commands import home_of, job_parser
from funke.ops.cli.terminal import print_json
from funke.ops.metrics.flink_metrics import metrics_of_task
from funke.ops.rest.job_directory import JobDirectory, KnownJob

__all__ = ["show_top", "top_table"]

_PAUSE_S = 1.0
_Key = Callable[[float], str]
_UNITS = ("", "k", "M", "G", "T")


def show_top(arguments: list[str]) -> None:
    """Draw the table until the user presses q, or interrupts."""
    parser = job_parser("top", "shows running jobs and how busy their operators are")
    parser.add_argument("--once", action="store_true", help="draw it once, for scripts")
    options = parser.parse_args(arguments)
    directory, console = JobDirectory(home_of(options)), Console()
    if options.json:
        print_json([job.view() for job in _running(directory)])
        return
    if options.once:
        console.print(top_table(directory))
        return
    with (
        single_keys() as next_key,
        Live(top_table(directory), console=console, auto_refresh=False, screen=console.is_terminal) as live,
    ):
        while next_key(_PAUSE_S) not in ("q", "Q"):
            live.update(top_table(directory), refresh=True)


@contextlib.contextmanager
def single_keys() -> Iterator[_Key]:
    """Waits for a key without Enter, for some seconds; without a terminal there are no keys, and it only waits."""
    if not sys.stdin.isatty():
        yield _no_key
        return
    import termios
    import tty

    before = termios.tcgetattr(sys.stdin)
    try:
        tty.setcbreak(sys.stdin)
        yield lambda seconds: os.read(sys.stdin.fileno(), 1).decode("ascii", "replace") if _has_key(seconds) else ""
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)


def _no_key(seconds: float) -> str:
    time.sleep(seconds)
    return ""


def _has_key(seconds: float) -> bool:
    return bool(select.select([sys.stdin], [], [], seconds)[0])


def top_table(directory: JobDirectory) -> Group:
    """The table at this moment, and what is to be said about it."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    # Where there is no room for all of it, names are shortened, and metrics never: rich takes from columns that wrap.
    table.add_column("job / operators", min_width=24)
    for name in ("status", "par", "busy", "pressed", "in/s", "out/s"):
        table.add_column(name, justify="left" if name == "status" else "right", no_wrap=True)
    said: list[Text] = []
    running = _running(directory)
    for job in running:
        view = job.view()
        table.add_row(_name((view.name, "bold"), f" {view.job_id[:8]}"), view.status.name, str(view.parallelism))
        for vertex in view.vertices:
            table.add_row(*_vertex_row(view, vertex))
        bottleneck = find_bottleneck(view)
        text = (
            bottleneck.sentence
            if bottleneck is not None
            else f"waits for {view.waiting_for}"
            if view.waiting_for
            else ""
        )
        if text:
            said.append(Text(f"{view.name}: {text}", style="yellow"))
    if not running:
        return Group(Text("No running jobs."))
    return Group(table, *said)


def _running(directory: JobDirectory) -> list[KnownJob]:
    return [job for job in directory.all() if job.is_driven and not job.seen.status.is_globally_terminal_state()]


def _name(*parts: str | tuple[str, str]) -> Text:
    """On one line, however narrow its column is."""
    return Text.assemble(*parts, no_wrap=True, overflow="ellipsis")


def _vertex_row(view: JobView, vertex: VertexView) -> list[str | Text]:
    metrics = [metrics_of_task(view, vertex, each.subtask) for each in vertex.subtasks]
    pressure = vertex.pressure
    busy = f"{pressure.busy:.0%}" if pressure is not None else ""
    pressed = f"{pressure.status.name} {pressure.ratio:.0%}" if pressure is not None else ""
    rates = [
        short_number(sum(float(each.get(name, 0.0)) for each in metrics))
        for name in ("numRecordsInPerSecond", "numRecordsOutPerSecond")
    ]
    return [_name(f"  {vertex.name}"), "", str(vertex.parallelism), busy, pressed, *rates]


def short_number(number: float) -> str:
    """A number in a few characters.

    >>> short_number(0), short_number(950.4), short_number(1_234_567)
    ('0', '950', '1.2M')
    """
    unit = 0
    while number >= 1000 and unit < len(_UNITS) - 1:
        number, unit = number / 1000, unit + 1
    return f"{number:.1f}{_UNITS[unit]}" if unit and number < 100 else f"{number:.0f}{_UNITS[unit]}"
