"""A changing result on the whole screen, drawn again in place as it changes."""

from __future__ import annotations

import contextlib
import datetime
import os
import select
import shutil
import sys
import termios
import tty
from collections.abc import Callable, Iterator
from threading import Lock, Thread

from funke.engine.types.row import Row
from funke.ops.cli.sql.live_rows import LiveRows
from funke.ops.cli.sql.result_writers import FittedTable
from funke.ops.cli.sql.shown_result import ShownResult

__all__ = ["LiveView"]

_REDRAW_S = 0.2
_OTHER_SCREEN, _OWN_SCREEN = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l"
_TO_THE_TOP, _END_OF_LINE, _REST = "\x1b[H", "\x1b[K\r\n", "\x1b[J"


class LiveView:
    """Shows the rows that a query has by now; its last rows stay on the terminal."""

    def __init__(self, result: ShownResult, most_rows: int, took_s: Callable[[], float] | None = None) -> None:
        self._result = result
        self._took_s = took_s
        self._rows = LiveRows(most_rows)
        self._lock = Lock()
        self._changes = 0
        self._error: BaseException | None = None
        self._reader = Thread(target=self._read, name="live rows", daemon=True)

    def run(self) -> bool:
        """Show the result until it is complete or the user leaves; returns whether it is complete."""
        self._reader.start()
        try:
            with _whole_screen():
                is_complete = self._show()
        except KeyboardInterrupt:
            is_complete = False
        if not is_complete:
            self._result.cancel()
        with self._lock:
            rows = self._rows.all()
        for line in self._lines(rows):
            print(line)
        took = "" if self._took_s is None else f" ({self._took_s():.2f} seconds)"
        print(f"{len(rows)} {'row' if len(rows) == 1 else 'rows'} in set{took}" if rows else f"Empty set{took}")
        if not is_complete:
            print("Query cancelled.")
        if self._error is not None and is_complete:
            raise self._error
        return is_complete

    def _lines(self, rows: list[Row]) -> list[str]:
        """The frame with some rows."""
        table = FittedTable(self._result.columns, False, shutil.get_terminal_size().columns)
        return [*table.begin(rows), *(line for row in rows for line in table.write(row)), *table.end()]

    def _read(self) -> None:
        try:
            for row in self._result.rows:
                with self._lock:
                    self._rows.apply(row)
                    self._changes += 1
        except BaseException as error:  # raised again in the thread that shows the view
            self._error = error

    def _show(self) -> bool:
        drawn = -1
        while True:
            is_over = not self._reader.is_alive()
            if self._changes != drawn:
                drawn = self._changes
                self._draw()
            if is_over:
                return True
            if select.select([sys.stdin], [], [], _REDRAW_S)[0] and os.read(sys.stdin.fileno(), 1) in (b"q", b"Q", b""):
                return False

    def _draw(self) -> None:
        # Terminals that do not know their size have one all the same.
        width, height = shutil.get_terminal_size()
        with self._lock:
            # The frame has four lines, the last line of the screen says what to do.
            rows = self._rows.first(max(1, height - 5))
            table = self._lines(rows)
            now = f"{datetime.datetime.now():%H:%M:%S}"
            count = f"{len(rows)} of {len(self._rows)} rows, {self._changes} changes"
        lines = [*table, f"{now}  {count}  (q or Ctrl-C ends the query)"]
        screen = _END_OF_LINE.join(line[:width] for line in lines)
        sys.stdout.write(f"{_TO_THE_TOP}{screen}\x1b[K{_REST}")
        sys.stdout.flush()


@contextlib.contextmanager
def _whole_screen() -> Iterator[None]:
    """Keys come at once, and what stood on the screen comes back."""
    keyboard = sys.stdin.fileno()
    before = termios.tcgetattr(keyboard)
    tty.setcbreak(keyboard)
    sys.stdout.write(_OTHER_SCREEN)
    try:
        yield
    finally:
        sys.stdout.write(_OWN_SCREEN)
        sys.stdout.flush()
        termios.tcsetattr(keyboard, termios.TCSADRAIN, before)
