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
    """A window with its alias, for `Table.window`.

    >>> from funke.table.expressions import col, lit
    >>> from funke.table.window import GroupWindow, Session, Slide, Tumble
    >>> hours = (Tumble.over(lit(1).hour), Slide.over(lit(1).hour).every(lit(5).minutes), Session.with_gap(lit(1).hour))
    >>> all(isinstance(each.on(col("t")).alias("w"), GroupWindow) for each in hours)  # for Table.window()
    True
    """

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

    >>> from funke.common import Time, Types, WatermarkStrategy
    >>> from funke.datastream import StreamExecutionEnvironment
    >>> from funke.table import DataTypes, Schema, StreamTableEnvironment
    >>> from funke.table.expressions import col, lit
    >>> from funke.table.window import Tumble
    >>> env = StreamExecutionEnvironment.get_execution_environment()
    >>> t_env = StreamTableEnvironment.create(env)
    >>> clicks = env.from_collection([(1_000,), (2_000,), (70_000,)], Types.ROW_NAMED(["ms"], [Types.LONG()]))
    >>> schema = Schema.new_builder().column("ms", DataTypes.BIGINT())
    >>> schema = schema.column_by_expression("t", "TO_TIMESTAMP_LTZ(ms, 3)").watermark("t", "t").build()
    >>> minutes = t_env.from_data_stream(clicks, schema).window(Tumble.over(lit(1).minute).on(col("t")).alias("w"))
    >>> list(minutes.group_by(col("w")).select(col("ms").count).execute().collect())
    [<Row(2)>, <Row(1)>]
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
    """Windows that a pause ends.

    >>> from funke.table import EnvironmentSettings, TableEnvironment
    >>> from funke.table.expressions import col, lit
    >>> from funke.table.window import Session
    >>> t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    >>> _ = t_env.execute_sql(
    ...     "CREATE TABLE clicks (user_id INT, t TIMESTAMP(3), WATERMARK FOR t AS t) WITH ('connector' = 'datagen')"
    ... )
    >>> visits = t_env.from_path("clicks").window(Session.with_gap(lit(30).minutes).on(col("t")).alias("visit"))
    >>> grouped = visits.group_by(col("visit"), col("user_id"))
    >>> grouped.select(col("user_id"), col("visit").end.alias("left_at")).get_schema().get_field_names()
    ['user_id', 'left_at']
    """

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
    """Windows of one size that begin at regular distances.

    >>> from funke.table import EnvironmentSettings, TableEnvironment
    >>> from funke.table.expressions import col, lit
    >>> from funke.table.window import Slide
    >>> t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    >>> _ = t_env.execute_sql(
    ...     "CREATE TABLE clicks (user_id INT, t TIMESTAMP(3), WATERMARK FOR t AS t) WITH ('connector' = 'datagen')"
    ... )
    >>> last_hour = Slide.over(lit(1).hour).every(lit(5).minutes).on(col("t")).alias("last_hour")
    >>> users = t_env.from_path("clicks").window(last_hour).group_by(col("last_hour"))
    >>> users.select(col("user_id").count.distinct.alias("users")).get_schema().get_field_names()
    ['users']
    """

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
    """An OVER window with its alias, for `Table.over_window`.

    >>> from funke.table.expressions import UNBOUNDED_ROW, col
    >>> from funke.table.window import Over, OverWindow
    >>> window = Over.partition_by(col("user")).order_by(col("t")).preceding(UNBOUNDED_ROW).alias("w")
    >>> isinstance(window, OverWindow)  # for Table.over_window()
    True
    """

    def __init__(self, alias: str, window: syntax.OverWindow) -> None:
        self._alias = alias
        self._window = window


class Over:
    """Windows around each row.

    >>> from funke.table import EnvironmentSettings, TableEnvironment
    >>> from funke.table.expressions import call_sql, col, row_interval
    >>> from funke.table.window import Over
    >>> t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    >>> _ = t_env.get_config().set("parallelism.default", "1")  # rows keep their order
    >>> readings = t_env.from_elements([(1, 20), (2, 22), (3, 27)], ["id", "degrees"])
    >>> readings = readings.add_columns(call_sql("PROCTIME()").alias("t"))
    >>> last_two = readings.over_window(Over.order_by(col("t")).preceding(row_interval(1)).alias("w"))
    >>> list(last_two.select(col("id"), col("degrees").max.over(col("w"))).execute().collect())
    [<Row(1, 20)>, <Row(2, 22)>, <Row(3, 27)>]
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
