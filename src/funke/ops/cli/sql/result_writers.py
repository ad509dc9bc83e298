"""How rows are written: tables that fit the screen, one row below the other, CSV, JSON, Markdown."""

from __future__ import annotations

import csv
import io
import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence

from funke.engine.sql.results.display_width import display_width
from funke.engine.types.row import Row
from funke.ops.cli.sql.shown_result import ShownColumn

__all__ = ["FORMATS", "FittedTable", "ResultWriter", "writer_of"]

_NULL = "<NULL>"
_MARK = "…"
_NARROWEST = 6
_KIND = ShownColumn("op")


class ResultWriter(ABC):
    """Writes the rows of one result; `count` of them so far."""

    # Whether it is for people, who are told how many rows there were.
    has_footer = True

    def __init__(self, columns: Sequence[ShownColumn], has_kinds: bool) -> None:
        self.columns = (_KIND, *columns) if has_kinds else tuple(columns)
        self._has_kinds = has_kinds
        self.count = 0

    def cells(self, row: Row) -> list[str | None]:
        """The texts of a row, with its kind if that counts."""
        return [*((str(row.get_row_kind()),) if self._has_kinds else ()), *row]

    def begin(self, first: Sequence[Row]) -> Iterator[str]:
        """The lines above all rows; the first rows are known."""
        return iter(())

    def write(self, row: Row) -> Iterator[str]:
        """The lines of a row."""
        yield from self.lines(self.cells(row))
        # Not before: Ctrl-C may come while it waits to be shown.
        self.count += 1

    @abstractmethod
    def lines(self, cells: list[str | None]) -> Iterator[str]:
        """The lines of the texts of a row."""

    def end(self) -> Iterator[str]:
        """The lines below all rows."""
        return iter(())


class FittedTable(ResultWriter):
    """A frame; columns are as wide as their first values, and all of them as wide as the screen at most.

    >>> table = FittedTable([ShownColumn("item"), ShownColumn("n", is_number=True)], False, 18)
    >>> rows = [Row("a lamp and a desk", "5"), Row(None, "10")]
    >>> print(*table.begin(rows), *(line for row in rows for line in table.write(row)), *table.end(), sep="\\n")
    +-----------+----+
    | item      |  n |
    +-----------+----+
    | a lamp a… |  5 |
    | <NULL>    | 10 |
    +-----------+----+
    """

    def __init__(
        self, columns: Sequence[ShownColumn], has_kinds: bool, width: int | None, widest_column: int | None = None
    ) -> None:
        super().__init__(columns, has_kinds)
        self._width = width
        self._widest_column = widest_column
        self._widths: list[int] = []

    def begin(self, first: Sequence[Row]) -> Iterator[str]:
        strings = [[each.name for each in self.columns], *([_cell(text) for text in self.cells(row)] for row in first)]
        widths = [max(map(display_width, column)) for column in zip(*strings)]
        most = self._widest_column
        fitted = [width if most is None else min(width, max(most, 1)) for width in widths]
        self._widths = _fitted(fitted, self._width)
        border = self._border()
        yield border
        yield self._line([each.name for each in self.columns])
        yield border

    def lines(self, cells: list[str | None]) -> Iterator[str]:
        yield self._line([_cell(each) for each in cells])

    def end(self) -> Iterator[str]:
        if self._widths:
            yield self._border()
        left_out = len(self.columns) - len(self._widths)
        if self._widths and left_out:
            names = ", ".join(each.name for each in self.columns[len(self._widths) :])
            yield f"Columns without room: {names} (\\x shows one value in a line)"

    def _border(self) -> str:
        return "+" + "".join(f"{'-' * (width + 2)}+" for width in self._widths)

    def _line(self, strings: Sequence[str]) -> str:
        cells = (f" {_aligned(text, width, each)} |" for text, width, each in zip(strings, self._widths, self.columns))
        return "|" + "".join(cells)


def _cell(text: str | None) -> str:
    return _NULL if text is None else text.replace("\r", "\\r").replace("\n", "\\n").replace("\t", " ")


def _aligned(text: str, width: int, column: ShownColumn) -> str:
    shortened = _shortened(text, width)
    room = " " * (width - display_width(shortened))
    return room + shortened if column.is_number else shortened + room


def _shortened(text: str, width: int) -> str:
    if display_width(text) <= width:
        return text
    kept = text[: width - 1]
    while display_width(kept) > width - 1:
        kept = kept[:-1]
    return kept + _MARK


def _fitted(widths: list[int], room: int | None) -> list[int]:
    """The widths of columns in a room: the widest become narrower, and then the last ones go."""
    if room is None:
        return widths
    fitted = [min(each, room) for each in widths]
    while sum(fitted) + 3 * len(fitted) + 1 > room:
        widest = max(fitted)
        if widest > _NARROWEST or len(fitted) == 1:
            fitted[fitted.index(widest)] -= 1
        else:
            fitted.pop()
    return fitted


class Vertical(ResultWriter):
    """Every value in a line of its own."""

    def lines(self, cells: list[str | None]) -> Iterator[str]:
        width = max(display_width(each.name) for each in self.columns)
        yield f"-[ ROW {self.count + 1} ]".ljust(width + 3, "-")
        for column, text in zip(self.columns, cells):
            room = " " * (width - display_width(column.name))
            yield f"{column.name}{room} | {_NULL if text is None else text}"


class Csv(ResultWriter):
    """Comma-separated values with a heading; NULL is empty."""

    has_footer = False

    def begin(self, first: Sequence[Row]) -> Iterator[str]:
        yield _csv_line([each.name for each in self.columns])

    def lines(self, cells: list[str | None]) -> Iterator[str]:
        yield _csv_line(["" if each is None else each for each in cells])


def _csv_line(strings: list[str]) -> str:
    line = io.StringIO()
    # What ends lines is put into quotes, so both of its characters are named.
    csv.writer(line, lineterminator="\r\n").writerow(strings)
    return line.getvalue().removesuffix("\r\n")


class JsonLines(ResultWriter):
    """A JSON object in each line."""

    has_footer = False

    def lines(self, cells: list[str | None]) -> Iterator[str]:
        entries = (f"{_json(each.name)}: {_json_value(text, each)}" for each, text in zip(self.columns, cells))
        yield f"{{{', '.join(entries)}}}"


def _json(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _json_value(text: str | None, column: ShownColumn) -> str:
    if text is None:
        return "null"
    if column.is_boolean:
        return text.lower()
    # JSON has no NaN and no infinities.
    return text if column.is_number and text[-1].isdigit() else _json(text)


class Markdown(ResultWriter):
    """A table for a document."""

    has_footer = False

    def begin(self, first: Sequence[Row]) -> Iterator[str]:
        yield _markdown_line([each.name for each in self.columns])
        yield _markdown_line(["---:" if each.is_number else "---" for each in self.columns])

    def lines(self, cells: list[str | None]) -> Iterator[str]:
        yield _markdown_line([_cell(each) if each is not None else "NULL" for each in cells])


def _markdown_line(strings: list[str]) -> str:
    return f"| {' | '.join(each.replace('|', chr(92) + '|') for each in strings)} |"


FORMATS = ("table", "vertical", "csv", "json", "markdown")


def writer_of(
    name: str, columns: Sequence[ShownColumn], has_kinds: bool, width: int | None, widest_column: int | None
) -> ResultWriter:
    """The writer of a format."""
    if name == "table":
        return FittedTable(columns, has_kinds, width, widest_column)
    kinds: dict[str, type[ResultWriter]] = {"vertical": Vertical, "csv": Csv, "json": JsonLines, "markdown": Markdown}
    return kinds[name](columns, has_kinds)
