"""Functions of the place where a query runs: its database and its watermark."""

from __future__ import annotations

from collections.abc import Sequence

from funke.engine.errors import UnsupportedFeatureError
from funke.engine.sql.functions.function import Argument, Body, BoundCall, Function
from funke.engine.types.logical import DataType, VarCharType, with_nullable

__all__ = ["CURRENT_WATERMARK", "SURROUNDINGS"]

# Operators replace calls of this function: only they see watermarks.
CURRENT_WATERMARK = "current_watermark"


def _database(call: BoundCall) -> Body:
    name = call.session.database
    return lambda: name


def _of_rowtime(arguments: Sequence[Argument]) -> DataType:
    return with_nullable(arguments[0].type, True)


def _no_watermark(call: BoundCall) -> Body:
    # Evaluators of columns replace it by the watermark.
    raise UnsupportedFeatureError("CURRENT_WATERMARK here", "compute it in a SELECT or WHERE of its own")


SURROUNDINGS: tuple[Function, ...] = (
    Function(
        ("current_database",),
        "",
        VarCharType(0x7FFFFFFF, False),
        body_for=_database,
        is_strict=False,
        purpose="The name of the current database.",
    ),
    Function(
        (CURRENT_WATERMARK,),
        "timestamp",
        _of_rowtime,
        body_for=_no_watermark,
        is_strict=False,
        is_deterministic=False,
        purpose="The watermark when the row comes, of a rowtime attribute; NULL before the first one.",
    ),
)
