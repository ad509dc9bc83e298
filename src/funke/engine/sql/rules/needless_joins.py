"""Removes outer joins that add nothing, as Flink does: the other side is not read, and matches at most once.

What are updates below stay updates, and rows that are only added stay so.
"""

from __future__ import annotations

from funke.engine.sql.binding import Calculation, Relation, columns_in, moved, with_inputs
from funke.engine.sql.binding.merged_calculations import merged_pair
from funke.engine.sql.plan.calc import Calc
from funke.engine.sql.plan.joins.join import Join

__all__ = ["without_needless_joins"]


def without_needless_joins(relation: Relation) -> Relation:
    """Lets calculations over such joins read the side that is kept."""
    changed: Relation = with_inputs(relation, without_needless_joins)
    if not isinstance(changed, Calculation):
        return changed
    whole: Calculation = changed
    while isinstance(whole.input, Calculation) and (pair := merged_pair(whole, whole.input)) is not None:
        whole = pair
    return _without_join(whole, whole.input) or changed if isinstance(whole.input, Join) else changed


def _without_join(calculation: Calculation, join: Join) -> Calculation | None:
    conditions = () if calculation.condition is None else (calculation.condition,)
    used, width = set(columns_in((*calculation.expressions, *conditions))), len(join.left.columns)
    # Without a unique key on the other side a row could have several matches, and would be repeated.
    if join.kind == "left" and join.right_is_unique and all(each < width for each in used):
        side, moves = join.left, {each: each for each in used}
    elif join.kind == "right" and join.left_is_unique and all(each >= width for each in used):
        side, moves = join.right, {each: each - width for each in used}
    else:
        return None
    expressions = tuple(moved(each, moves) for each in calculation.expressions)
    condition = None if calculation.condition is None else moved(calculation.condition, moves)
    return Calc(calculation.columns, side, expressions, condition)
