"""Windows of the Table API become data."""

from __future__ import annotations

import pytest

from funke.engine.errors import GraphError
from funke.engine.sql.syntax.expressions import Literal, Name, OrderItem, OverWindow, WindowBound
from funke.engine.sql.syntax.windows import GroupWindow
from funke.engine.sql.window_kinds import HoppingWindows, SessionWindows, TumblingWindows
from funke.table import DataTypes
from funke.table.expressions import CURRENT_RANGE, CURRENT_ROW, UNBOUNDED_RANGE, UNBOUNDED_ROW, col, lit, row_interval
from funke.table.window import Over, Session, Slide, Tumble

TIME = Name(("ts",))
MINUTE, HOUR = lit(1).minutes._syntax, lit(1).hours._syntax
HERE = Literal(0, DataTypes.BIGINT(False))


def test_group_windows() -> None:
    tumble = Tumble.over(lit(1).hours).on(col("ts")).alias("w")
    slide = Slide.over(lit(1).hours).every(lit(1).minutes).on(col("ts")).alias("w")
    session = Session.with_gap(lit(1).minutes).on(col("ts")).alias("w")

    assert tumble._window == GroupWindow(TumblingWindows, (HOUR,), TIME, "w")
    assert slide._window == GroupWindow(HoppingWindows, (MINUTE, HOUR), TIME, "w")
    assert session._window == GroupWindow(SessionWindows, (MINUTE,), TIME, "w")


def test_over_windows() -> None:
    order = (OrderItem(TIME),)
    by_key = Over.partition_by(col("k")).order_by(col("ts"))

    assert Over.order_by(col("ts")).alias("w")._window == OverWindow(
        (), order, False, WindowBound(True), WindowBound(False, HERE)
    )
    assert by_key.preceding(UNBOUNDED_ROW).following(CURRENT_ROW).alias("w")._window == OverWindow(
        (Name(("k",)),), order, True, WindowBound(True), WindowBound(False, HERE)
    )
    assert by_key.preceding(row_interval(3)).alias("w")._window == OverWindow(
        (Name(("k",)),), order, True, WindowBound(True, row_interval(3)._syntax), WindowBound(False, HERE)
    )
    assert by_key.preceding(lit(1).hours).following(CURRENT_RANGE).alias("w")._window == OverWindow(
        (Name(("k",)),), order, False, WindowBound(True, HOUR), WindowBound(False, HERE)
    )


def test_bounds_must_be_of_one_kind() -> None:
    window = Over.order_by(col("ts"))

    with pytest.raises(GraphError, match="same interval type"):
        window.preceding(UNBOUNDED_RANGE).following(CURRENT_ROW).alias("w")
    with pytest.raises(GraphError, match="a bound of an OVER window"):
        window.preceding(col("a")).alias("w")
