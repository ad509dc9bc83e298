"""Windows of the Table API: named group windows, and OVER windows by their bounds."""

from __future__ import annotations

from dataclasses import dataclass, replace

from funke.engine.errors import GraphError, at_user_line
from funke.engine.sql.syntax.expressions import Call, Expression, Literal, OrderItem, OverWindow, WindowBound
from funke.engine.sql.syntax.text_form import summary
from funke.engine.sql.window_kinds import Windows
from funke.engine.types.logical.atomic_types import BigIntType

__all__ = ["GroupWindow", "order_item", "over_window"]


@dataclass(frozen=True)
class GroupWindow:
    """Tumble, Slide (hop) or Session on a time column; sizes stand in the order of the SQL functions."""

    kind: type[Windows]
    # A BIGINT counts rows.
    sizes: tuple[Expression, ...]
    time: Expression
    alias: str = ""

    def with_alias(self, alias: str) -> GroupWindow:
        return replace(self, alias=alias)


def order_item(expression: Expression) -> OrderItem:
    """Return a sort key, ascending unless the expression says otherwise."""
    return expression if isinstance(expression, OrderItem) else OrderItem(expression)


def over_window(
    partition_by: tuple[Expression, ...],
    order: OrderItem,
    preceding: Expression | None = None,
    following: Expression | None = None,
) -> OverWindow:
    """Return an OVER window; without bounds it reaches from the first row to the current one, by time."""
    if preceding is None:
        preceding = Call("unbounded_range")
    is_rows = _counts_rows(preceding)
    if following is None:
        following = Call("current_row" if is_rows else "current_range")
    if _counts_rows(following) != is_rows:
        raise GraphError(at_user_line("Preceding and following must be of same interval type."))
    return OverWindow(
        partition_by, (order,), is_rows, _bound(preceding, is_preceding=True), _bound(following, is_preceding=False)
    )


def _bound(distance: Expression, is_preceding: bool) -> WindowBound:
    if isinstance(distance, Call) and distance.name.startswith("unbounded_"):
        return WindowBound(is_preceding)
    if isinstance(distance, Call) and distance.name.startswith("current_"):
        return WindowBound(is_preceding, Literal(0, BigIntType(nullable=False)))
    return WindowBound(is_preceding, distance)


def _counts_rows(distance: Expression) -> bool:
    if isinstance(distance, Call) and distance.name in _BOUNDS:
        return distance.name.endswith("_row")
    if isinstance(distance, Literal):
        return isinstance(distance.type, BigIntType)
    raise GraphError(
        at_user_line(
            f"a bound of an OVER window is a length of time, row_interval(n), UNBOUNDED_… or CURRENT_…, "
            f"got {summary(distance)}"
        )
    )


_BOUNDS = frozenset({"unbounded_row", "unbounded_range", "current_row", "current_range"})
