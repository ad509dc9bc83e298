"""Physical plan nodes: how a query runs, one node in one file.

This package itself is what every node is written with: the base class, its answers (changelog, distribution, upsert
keys, watermarks, pruning) and the texts of EXPLAIN. Nodes are imported from their own files, so that a subtask loads
those of its operators only.
"""

from __future__ import annotations

from funke.engine.sql.plan.changelogs.changes import (
    ALL_KINDS,
    INSERTS,
    ChangeSettings,
    Kinds,
    MiniBatch,
    ttl_of,
    updates,
)
from funke.engine.sql.plan.changelogs.upsert_keys import (
    NO_KEYS,
    UpsertKeys,
    containing,
    identifying_key,
    one_key,
    smallest_key,
)
from funke.engine.sql.plan.explain_text import (
    PREFIX,
    ExplainStyle,
    call_text,
    column_name,
    expression_text,
    field_names,
    kind_text,
    limit_parts,
    named_text,
    order_text,
    right_names,
    value_text,
)
from funke.engine.sql.plan.node import (
    FORWARD,
    SINGLE,
    DetachedInput,
    Distribution,
    Hash,
    LocalPhase,
    Moves,
    PassThrough,
    PlanNode,
    Pruned,
    as_node,
    same_columns,
)
from funke.engine.sql.plan.pruned_columns import kept_columns, moved_aggregate, used_by
from funke.engine.sql.plan.watermarks import EVERY_WATERMARK, FOR_LATE_ROWS, WatermarkStep, finer

__all__ = [
    "ALL_KINDS",
    "EVERY_WATERMARK",
    "FORWARD",
    "FOR_LATE_ROWS",
    "INSERTS",
    "NO_KEYS",
    "PREFIX",
    "SINGLE",
    "ChangeSettings",
    "DetachedInput",
    "Distribution",
    "ExplainStyle",
    "Hash",
    "Kinds",
    "LocalPhase",
    "MiniBatch",
    "Moves",
    "PassThrough",
    "PlanNode",
    "Pruned",
    "UpsertKeys",
    "WatermarkStep",
    "as_node",
    "call_text",
    "column_name",
    "containing",
    "expression_text",
    "field_names",
    "finer",
    "identifying_key",
    "kept_columns",
    "kind_text",
    "limit_parts",
    "moved_aggregate",
    "named_text",
    "one_key",
    "order_text",
    "right_names",
    "same_columns",
    "smallest_key",
    "ttl_of",
    "updates",
    "used_by",
    "value_text",
]
