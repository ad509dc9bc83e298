"""The sink behind `print()`: every record becomes a line on the driver's standard output."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from funke.engine.connectors.sink import Sink, SinkWriter, WriterContext
from funke.engine.types.driver_messages import PrintedText
from funke.engine.types.text_form import print_writer

__all__ = ["PrintSink"]


@dataclass(frozen=True)
class PrintSink(Sink):
    """Prints records; `identifier` stands in front of every line when it is given."""

    identifier: str | None = None

    def create_writer(self, context: WriterContext, restored: Any = None) -> SinkWriter:
        return _PrintWriter(context, line_prefix(self.identifier, context.subtask, context.parallelism))


def line_prefix(identifier: str | None, subtask: int, parallelism: int) -> str:
    """What stands in front of each line: the identifier if any, and the subtask's number if there are several.

    >>> line_prefix(None, 0, 1), line_prefix("out", 0, 1), line_prefix(None, 1, 2), line_prefix("out", 1, 2)
    ('', 'out> ', '2> ', 'out:2> ')
    """
    number = str(subtask + 1) if parallelism > 1 else ""
    label = ":".join(part for part in (identifier, number) if part)
    return f"{label}> " if label else ""


class _PrintWriter(SinkWriter):
    def __init__(self, context: WriterContext, prefix: str) -> None:
        self._send = context.send_to_driver
        self._to_text = print_writer(context.input_type)
        self._prefix = prefix

    def write(self, values: list[Any], timestamps: list[int] | None) -> None:
        """Sends the lines of the batch as one text that ends with a line break."""
        if values:
            separator = f"\n{self._prefix}"
            self._send(PrintedText(f"{self._prefix}{separator.join(map(self._to_text, values))}\n"))
