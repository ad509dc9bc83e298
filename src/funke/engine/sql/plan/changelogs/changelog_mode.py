"""Changelog modes of whole plans: drops UPDATE_BEFORE where no consumer needs it, rejects unsupported changes."""

from __future__ import annotations

from funke.engine.flink_exceptions import TableException
from funke.engine.sql.binding.relations import Calculation, Expansion, Relation, UnionAll
from funke.engine.sql.binding.watermark_assigner import WatermarkAssigner
from funke.engine.sql.binding.windows.window_relations import WindowTable
from funke.engine.sql.plan import ChangeSettings, ExplainStyle, Kinds, PlanNode, as_node
from funke.engine.sql.plan.pruning import without_unused
from funke.engine.types.row import RowKind

__all__ = ["for_consumer", "require_kinds"]

_UPDATES = frozenset({RowKind.UPDATE_BEFORE, RowKind.UPDATE_AFTER})


def for_consumer(relation: Relation, accepted: Kinds, settings: ChangeSettings | None = None) -> PlanNode:
    """The plan for a consumer that takes changes of these kinds."""
    return as_node(relation).for_consumer(RowKind.UPDATE_BEFORE in accepted, settings or ChangeSettings())


def require_kinds(relation: Relation, accepted: Kinds, consumer: str) -> None:
    """Rejects a plan that emits changes which its consumer does not take, with Flink's words."""
    # UPDATE_BEFORE does not count: a consumer that does not take it gets a plan without it (`for_consumer`).
    missing = as_node(relation).changelog() - accepted - {RowKind.UPDATE_BEFORE}
    if not missing:
        return
    words = [word for word, kinds in (("update", _UPDATES), ("delete", frozenset({RowKind.DELETE}))) if missing & kinds]
    producer = _producer(as_node(without_unused(as_node(relation))), missing)
    raise TableException(
        f"{consumer} doesn't support consuming {' and '.join(words)} changes which is produced by node "
        f"{producer.title(ExplainStyle(is_infix=True))}"
    )


def _producer(node: PlanNode, kinds: Kinds) -> PlanNode:
    """The node that makes changes of these kinds, whatever hands them on."""
    if isinstance(node, (Calculation, Expansion, WatermarkAssigner, WindowTable)):
        return _producer(node.inputs[0], kinds)
    if isinstance(node, UnionAll):
        return next(_producer(each, kinds) for each in node.inputs if each.changelog() & kinds)
    return node
