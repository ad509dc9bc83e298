"""Shows results: on the screen, in a pager, or in a file; Ctrl-C ends the query and tells how many rows there were."""

from __future__ import annotations

import contextlib
import queue
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from itertools import chain, islice
from threading import Thread

from funke.engine.types.row import Row
from funke.ops.cli.sql.result_writers import ResultWriter, writer_of
from funke.ops.cli.sql.shell_options import ShellOptions
from funke.ops.cli.sql.shown_result import ShownResult

__all__ = ["ResultDisplay"]

# The widths of columns follow from so many first rows, as far as they come in this time after the first.
_SAMPLE_ROWS = 200
_SAMPLE_S = 0.3
_MOST_WAITING = 1_000
_LOOK_S = 0.1


class ResultDisplay:
    """Shows the rows of one statement after the other; `is_typed` says whether a user sits at a terminal."""

    def __init__(self, options: ShellOptions, show: Callable[[str], None], is_typed: bool) -> None:
        self._options = options
        self._show = show
        self._is_typed = is_typed

    def show(self, result: ShownResult, began: float) -> None:
        """Show all rows."""
        if result.is_plain or (self._is_typed and _is_text(result)):
            for row in result.rows:
                self._show(str(row[0]))
            return
        to_file = self._options.output_file
        if to_file is not None:
            with open(to_file, "a", encoding="utf-8") as file:
                written = self._write(result, lambda line: _put(file.write, line), is_screen=False)
            self._tell(*written, began, to_file)
        elif self._is_plain_script(result):
            assert result.print_lines is not None
            for line in result.print_lines():
                self._show(line)
        else:
            self._tell(*self._write(result, self._show, self._is_typed), began)

    def _is_plain_script(self, result: ShownResult) -> bool:
        return not self._is_typed and self._options.format == "table" and result.print_lines is not None

    def _write(self, result: ShownResult, put: Callable[[str], None], is_screen: bool) -> tuple[ResultWriter, bool]:
        """Writes the rows; returns what knows how many there were, and whether the user has ended the query."""
        width = shutil.get_terminal_size().columns if is_screen else None
        options = self._options
        writer = writer_of(options.format, result.columns, result.is_changing, width, options.widest_column)
        is_cut_off = False
        try:
            lines = self._lines(writer, _Rows(result.rows))
            if is_screen and options.has_pager and not result.is_changing:
                _paged(lines, self._show)
            else:
                for line in lines:
                    put(line)
        except (KeyboardInterrupt, BrokenPipeError):
            is_cut_off = True
            result.cancel()
            for line in writer.end():
                put(line)
        return writer, is_cut_off

    def _lines(self, writer: ResultWriter, rows: _Rows) -> Iterator[str]:
        first = rows.first(_SAMPLE_ROWS, _SAMPLE_S)
        if first or not writer.has_footer:
            yield from writer.begin(first)
        for row in chain(first, rows):
            yield from writer.write(row)
        yield from writer.end()

    def _tell(self, writer: ResultWriter, is_cut_off: bool, began: float, file: str | None = None) -> None:
        """How many rows there were; scripts that read other formats are not told."""
        if not (self._is_typed or writer.has_footer or is_cut_off):
            return
        count = f"{writer.count} {'row' if writer.count == 1 else 'rows'}"
        took = f" ({time.monotonic() - began:.2f} seconds)" if self._is_typed and self._options.shows_time else ""
        if is_cut_off:
            self._show(f"Query terminated, received a total of {count}{took}")
        elif file is not None:
            self._show(f"{count} written to {file}{took}")
        else:
            self._show(f"{count} in set{took}" if writer.count else f"Empty set{took}")


def _is_text(result: ShownResult) -> bool:
    """Whether it is one text of many lines, such as that of SHOW CREATE TABLE, which a frame would cut."""
    return not result.is_query and [each.name for each in result.columns] == ["result"]


def _put(write: Callable[[str], object], line: str) -> None:
    write(line + "\n")


class _Rows:
    """Rows that a thread reads, so that they can be waited for in small steps: Ctrl-C is heard between two of them."""

    def __init__(self, rows: Iterator[Row]) -> None:
        self._waiting: queue.Queue[Row | None] = queue.Queue(_MOST_WAITING)
        self._error: BaseException | None = None
        self._is_over = False
        Thread(target=self._read, args=(rows,), name="rows", daemon=True).start()

    def _read(self, rows: Iterator[Row]) -> None:
        try:
            for row in rows:
                self._waiting.put(row)
        except BaseException as error:  # who reads the rows gets it
            self._error = error
        self._waiting.put(None)

    def first(self, most: int, limit_s: float) -> list[Row]:
        """The first rows: waits for one, and then not for long."""
        rows = list(islice(self, 1))
        end = time.monotonic() + limit_s
        while rows and not self._is_over and len(rows) < most and (left := end - time.monotonic()) > 0:
            with contextlib.suppress(queue.Empty):
                row = self._waiting.get(timeout=left)
                if row is None:
                    self._end()
                else:
                    rows.append(row)
        return rows

    def _end(self) -> None:
        self._is_over = True
        if self._error is not None:
            raise self._error

    def __iter__(self) -> Iterator[Row]:
        while not self._is_over:
            try:
                row = self._waiting.get(timeout=_LOOK_S)
            except queue.Empty:
                continue
            if row is None:
                self._end()
                return
            yield row


def _paged(lines: Iterator[str], show: Callable[[str], None]) -> None:
    """Show lines; those that are more than the screen has go to the pager, if there is one."""
    height = shutil.get_terminal_size().lines
    pager = shutil.which("less")
    first = list(islice(lines, max(1, height - 2))) if pager else []
    following = next(lines, None)
    if pager is None or following is None:
        for line in chain(first, () if following is None else (following,), lines):
            show(line)
        return
    sys.stdout.flush()
    # Long lines are not wrapped, colours stay, and Ctrl-C is for the query.
    with subprocess.Popen([pager, "-S", "-R", "-F", "-X", "-K"], stdin=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        try:
            for line in chain(first, (following,), lines):
                process.stdin.write(line + "\n")
        finally:
            with contextlib.suppress(BrokenPipeError):
                process.stdin.close()
