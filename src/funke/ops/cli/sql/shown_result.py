"""Results as the shell shows them: texts, whether they come from this process or from a gateway."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from funke.engine.sql.results.value_text import value_text
from funke.engine.types.logical import BooleanType, NumericType
from funke.engine.types.row import Row
from funke.ops.sql.statement_session import SessionResult
from funke.table import ResultKind

__all__ = ["ShownColumn", "ShownResult", "to_shown"]


@dataclass(frozen=True)
class ShownColumn:
    """A column by its name; numbers stand on the right, and need no quotes in JSON."""

    name: str
    is_number: bool = False
    is_boolean: bool = False


@dataclass(frozen=True)
class ShownResult:
    """What a statement gave. The values of rows are texts; None is NULL."""

    columns: tuple[ShownColumn, ...]
    rows: Iterator[Row]
    is_query: bool = False
    # Whether rows are changes of a result that goes on changing.
    is_changing: bool = False
    # Whether there is nothing to say but that it succeeded.
    is_ok: bool = False
    # Whether its one text is shown as it is.
    is_plain: bool = False
    # The job that writes, of an INSERT.
    insert_job: str | None = None
    cancel: Callable[[], None] = field(default=lambda: None, repr=False)
    # Waits for the end of what is written; None where the service writes it.
    wait: Callable[[], None] | None = field(default=None, repr=False)
    # The lines of PyFlink's print(), which scripts read.
    print_lines: Callable[[], Iterator[str]] | None = field(default=None, repr=False)


def to_shown(result: SessionResult) -> ShownResult:
    """The result of a session in this process."""
    content = result.table._content
    types = [each.type for each in content.columns]

    def rows() -> Iterator[Row]:
        for row in content.rows():
            strings = (
                None if value is None else value_text(value, kind, result.zone) for value, kind in zip(row, types)
            )
            shown_row = Row(*strings)
            shown_row.set_row_kind(row.get_row_kind())
            yield shown_row

    def cancel() -> None:
        with contextlib.suppress(KeyboardInterrupt):
            content.close()

    return ShownResult(
        tuple(
            ShownColumn(each.name, isinstance(each.type, NumericType), isinstance(each.type, BooleanType))
            for each in content.columns
        ),
        rows(),
        is_query=result.is_query,
        is_changing=content.is_changing,
        is_ok=result.table.get_result_kind() == ResultKind.SUCCESS,
        is_plain=content.is_plain,
        insert_job=result.insert_job,
        cancel=cancel,
        wait=None if content.job is None else result.table.wait,
        print_lines=lambda: content.lines(content.rows()),
    )
