"""Makes chains of joins that share a key one node, where the session or a hint asks for it."""

from __future__ import annotations

from dataclasses import replace

from funke.engine.config.option_values import parse_boolean
from funke.engine.sql.binding import BoundColumn, BoundExpression, Relation, is_deterministic, moved, with_inputs
from funke.engine.sql.binding.joins.join_hints import MULTI_JOIN
from funke.engine.sql.binding.joins.regular_joins import columns_of_join
from funke.engine.sql.plan.aggregates.group_window_aggregate import Settings
from funke.engine.sql.plan.calc import Calc
from funke.engine.sql.plan.joins.join import Join
from funke.engine.sql.plan.joins.multi_join import JoinLevel, MultiJoin
from funke.engine.sql.plan.node import Moves, PlanNode, same_columns

__all__ = ["with_multi_joins"]


def with_multi_joins(relation: Relation, settings: Settings) -> Relation:
    """Merges joins of three inputs and more, which then keep no rows between them."""
    return _changed(relation, parse_boolean(settings.get("table.optimizer.multi-join.enabled", "false")))


def _changed(relation: Relation, is_enabled: bool) -> Relation:
    changed: Relation = with_inputs(relation, lambda each: _changed(each, is_enabled))
    if not isinstance(changed, Join) or not _may_merge(changed, is_enabled):
        return changed
    # Whether the hint of a subquery's own name says how long the rows between the joins live.
    has_own_ttl = bool(changed.ttl_hints[0])
    base, moves = _without_projection(changed.left)
    if isinstance(base, Join) and _may_merge(base, is_enabled):
        base = _of_two(base)
    merged = _with_level(base, changed, moves) if isinstance(base, MultiJoin) and not has_own_ttl else None
    return changed if merged is None else merged


def _may_merge(join: Join, is_enabled: bool) -> bool:
    """True if a join may be a level of a chain, whose condition is computed again whenever a row comes or goes."""
    is_asked = is_enabled or any(name == MULTI_JOIN for name, _ in join.hints)
    # Flink's MultiJoin has inner and left joins with at least one equality.
    has_form = join.kind in ("inner", "left") and bool(join.left_keys) and not join.equal_nulls
    return is_asked and has_form and (join.condition is None or is_deterministic(join.condition))


def _without_projection(node: PlanNode) -> tuple[PlanNode, Moves]:
    """The node below projections that compute nothing, and the indexes that the columns have there."""
    if not isinstance(node, Calc) or node.condition is not None:
        return node, same_columns(node)
    columns = [each for each in node.expressions if isinstance(each, BoundColumn)]
    if len(columns) < len(node.expressions):
        return node, same_columns(node)
    base, moves = _without_projection(node.input)
    return base, {index: moves[each.index] for index, each in enumerate(columns)}


def _of_two(join: Join) -> MultiJoin:
    level = JoinLevel(join.kind, join.left_keys, join.right_keys, join.condition, join.where)
    keys = join.left_keys, join.right_keys
    return MultiJoin(join.columns, join.inputs, keys, (level,), (0, 0), join.ttl_hints)


def _with_level(chain: MultiJoin, join: Join, moves: Moves) -> PlanNode | None:
    """A chain with one more input; None if that does not share the key. The join's left columns have moved."""
    width, new_width = len(join.left.columns), len(chain.columns)
    left_keys = tuple(moves[each] for each in join.left_keys)
    parts = _shared_parts(chain, left_keys, join.right_keys)
    if not parts:
        return None
    all_moves = {**moves, **{width + each: new_width + each for each in range(len(join.right.columns))}}

    def shifted(condition: BoundExpression | None) -> BoundExpression | None:
        return None if condition is None else moved(condition, all_moves)

    level = JoinLevel(join.kind, left_keys, join.right_keys, shifted(join.condition), shifted(join.where))
    keys = [tuple(each[part] for part in parts) for each in chain.keys]
    node = replace(
        chain,
        columns=columns_of_join(chain.columns, join.right.columns, join.kind),
        sources=(*chain.sources, join.right),
        keys=(*keys, tuple(parts.values())),
        levels=(*chain.levels, level),
        ttls_ms=(*chain.ttls_ms, 0),
        ttl_hints=(*chain.ttl_hints, join.ttl_hints[1]),
    )
    if isinstance(join.left, MultiJoin | Join):
        return node
    same = (BoundColumn(each.type, all_moves[index], each.name, each.time) for index, each in enumerate(join.columns))
    return Calc(join.columns, node, tuple(same))


def _shared_parts(chain: MultiJoin, left_keys: tuple[int, ...], right_keys: tuple[int, ...]) -> dict[int, int]:
    """The parts of a chain's key that another join has too, and the columns of its right side that equal them."""
    parts: dict[int, int] = {}
    for left, right in zip(left_keys, right_keys):
        source, index = chain.located(left)
        for part, column in enumerate(chain.keys[source]):
            if column == index:
                parts.setdefault(part, right)
    return dict(sorted(parts.items()))
