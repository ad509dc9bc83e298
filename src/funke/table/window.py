"""Windows of tables: groups of rows by time or number, and OVER windows around each row."""

from __future__ import annotations

from typing import Any

from funke.engine.sql.syntax import expressions as syntax
from funke.engine.sql.syntax import windows
from funke.engine.sql.window_kinds import HoppingWindows, SessionWindows, TumblingWindows
from funke.table.expression import Expression
from funke.table.expression_members.operands import to_syntax
from funke.table.flink_1.string_expressions import expression_of, expressions_of

__all__ = ["Tumble", "Session", "Slide", "Over", "GroupWindow", "OverWindow"]


class GroupWindow:
    """A window with its alias, for `Table.window`."""

    def __init__(self, window: windows.GroupWindow) -> None:
        self._window = window


class _WindowOnTime:
    """A window that has everything but a name."""

    def __init__(self, window: windows.GroupWindow) -> None:
        self._window = window

    def alias(self, alias: str) -> GroupWindow:
        """Name the window; columns such as `col("w").start` use the name."""
        return GroupWindow(self._window.with_alias(to_name(alias)))


class TumbleWithSizeOnTime(_WindowOnTime):
    """A tumbling window on a time column."""


class SessionWithGapOnTime(_WindowOnTime):
    """A session window on a time column."""


class SlideWithSizeAndSlideOnTime(_WindowOnTime):
    """A sliding window on a time column."""


class Tumble:
    """Windows of one size, one after the other.

    >>> from funke.table.expressions import col, lit
    >>> window = Tumble.over(lit(10).minutes).on(col("rowtime")).alias("w")
    """

    @classmethod
    def over(cls, size: Expression[Any] | str) -> TumbleWithSize:
        """Set the size: a length of time, or `row_interval`."""
        return TumbleWithSize(size)


class TumbleWithSize:
    """A tumbling window."""

    def __init__(self, size: Expression[Any] | str) -> None:
        self._size = expression_of(size)

    def on(self, time_field: Expression[Any] | str) -> TumbleWithSizeOnTime:
        """Set the column of time."""
        return TumbleWithSizeOnTime(windows.GroupWindow(TumblingWindows, (self._size,), expression_of(time_field)))


class Session:
    """Windows that a pause ends."""

    @classmethod
    def with_gap(cls, gap: Expression[Any] | str) -> SessionWithGap:
        """Set how long the pause is."""
        return SessionWithGap(gap)


class SessionWithGap:
    """A session window."""

    def __init__(self, gap: Expression[Any] | str) -> None:
        self._gap = expression_of(gap)

    def on(self, time_field: Expression[Any] | str) -> SessionWithGapOnTime:
        """Set the column of time."""
        return SessionWithGapOnTime(windows.GroupWindow(SessionWindows, (self._gap,), expression_of(time_field)))


class Slide:
    """Windows of one size that begin at regular distances."""

    @classmethod
    def over(cls, size: Expression[Any] | str) -> SlideWithSize:
        """Set the size: a length of time, or `row_interval`."""
        return SlideWithSize(size)


class SlideWithSize:
    """A sliding window without its slide."""

    def __init__(self, size: Expression[Any] | str) -> None:
        self._size = expression_of(size)

    def every(self, slide: Expression[Any] | str) -> SlideWithSizeAndSlide:
        """Set the distance at which windows begin."""
        return SlideWithSizeAndSlide(self._size, expression_of(slide))


class SlideWithSizeAndSlide:
    """A sliding window."""

    def __init__(self, size: syntax.Expression, slide: syntax.Expression) -> None:
        self._sizes = (slide, size)

    def on(self, time_field: Expression[Any] | str) -> SlideWithSizeAndSlideOnTime:
        """Set the column of time."""
        return SlideWithSizeAndSlideOnTime(windows.GroupWindow(HoppingWindows, self._sizes, expression_of(time_field)))


class OverWindow:
    """An OVER window with its alias, for `Table.over_window`."""

    def __init__(self, alias: str, window: syntax.OverWindow) -> None:
        self._alias = alias
        self._window = window


class Over:
    """Windows around each row.

    >>> from funke.table.expressions import CURRENT_ROW, UNBOUNDED_ROW, col
    >>> window = Over.partition_by(col("user")).order_by(col("rowtime")).preceding(UNBOUNDED_ROW).alias("w")
    """

    @classmethod
    def order_by(cls, order_by: Expression[Any] | str) -> OverWindowPartitionedOrdered:
        """Set the column of time that rows are sorted by."""
        return OverWindowPartitioned(()).order_by(order_by)

    @classmethod
    def partition_by(cls, *partition_by: Expression[Any] | str) -> OverWindowPartitioned:
        """Set what rows of one window have in common."""
        return OverWindowPartitioned(expressions_of(partition_by))


class OverWindowPartitioned:
    """An OVER window without an order."""

    def __init__(self, partition_by: tuple[syntax.Expression, ...]) -> None:
        self._partition_by = partition_by

    def order_by(self, order_by: Expression[Any] | str) -> OverWindowPartitionedOrdered:
        """Set the column of time that rows are sorted by."""
        return OverWindowPartitionedOrdered(self._partition_by, windows.order_item(expression_of(order_by)))


class OverWindowPartitionedOrdered:
    """An OVER window without bounds: from the first row to the current one."""

    def __init__(self, partition_by: tuple[syntax.Expression, ...], order: syntax.OrderItem) -> None:
        self._partition_by = partition_by
        self._order = order

    def alias(self, alias: str) -> OverWindow:
        """Name the window for `Expression.over`."""
        return OverWindow(to_name(alias), windows.over_window(self._partition_by, self._order))

    def preceding(self, preceding: Expression[Any] | str) -> OverWindowPartitionedOrderedPreceding:
        """Set where the window begins: so many rows, or so much time, before the current row."""
        return OverWindowPartitionedOrderedPreceding(self._partition_by, self._order, expression_of(preceding))


class OverWindowPartitionedOrderedPreceding:
    """An OVER window with a beginning, and maybe an end."""

    def __init__(
        self,
        partition_by: tuple[syntax.Expression, ...],
        order: syntax.OrderItem,
        preceding: syntax.Expression,
        following: syntax.Expression | None = None,
    ) -> None:
        self._partition_by = partition_by
        self._order = order
        self._preceding = preceding
        self._following = following

    def alias(self, alias: str) -> OverWindow:
        """Name the window for `Expression.over`."""
        window = windows.over_window(self._partition_by, self._order, self._preceding, self._following)
        return OverWindow(to_name(alias), window)

    def following(self, following: Expression[Any] | str) -> OverWindowPartitionedOrderedPreceding:
        """Set where the window ends."""
        return OverWindowPartitionedOrderedPreceding(
            self._partition_by, self._order, self._preceding, expression_of(following)
        )


def to_name(alias: Any) -> str:
    """Return an alias that was given as text or as a column."""
    reference = to_syntax(alias) if isinstance(alias, Expression) else None
    return reference.parts[-1] if isinstance(reference, syntax.Name) else str(alias)
