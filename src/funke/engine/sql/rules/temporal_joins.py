"""Rejects event-time temporal joins with tables that have no versions: those without a key, or without event time.

A table has the key that it declares, or the one that a query gives its rows: that of a deduplication.
"""

from __future__ import annotations

from funke.engine.errors import UnsupportedFeatureError
from funke.engine.flink_exceptions import ValidationException
from funke.engine.sql.binding.relations import Relation, inputs_of
from funke.engine.sql.plan.changelogs.upsert_keys import smallest_key
from funke.engine.sql.plan.joins.temporal_join import TemporalJoin
from funke.engine.types.logical import to_column_type, to_sql_text

__all__ = ["check_versions"]

_NEEDED = "Event-Time Temporal Table Join requires both primary key and row time attribute in versioned table, but no"


def check_versions(relation: Relation) -> None:
    """Rejects joins whose keys do not say which version is meant."""
    for each in inputs_of(relation):
        check_versions(each)
    if isinstance(relation, TemporalJoin):
        _check(relation)


def _check(join: TemporalJoin) -> None:
    left, right = join.inputs
    primary = smallest_key(right.upsert_keys())
    if not primary:
        raise ValidationException(f"{_NEEDED} primary key can be found.")
    if join.right_time is None:
        raise ValidationException(f"{_NEEDED} row time attribute can be found.")
    # Otherwise one row could match the versions of several keys.
    if not {*join.right_keys} >= set(primary):
        # Computed keys are columns that lowering has added.
        keys = sorted(each for each in join.right_keys if not right.columns[each].name.startswith("$f"))
        needed, condition = (", ".join(right.columns[index].name for index in each) for each in (primary, keys))
        raise ValidationException(
            f"Temporal table's primary key [{needed}] must be included in the equivalence condition of temporal join, "
            f"but current temporal join condition is [{condition}]."
        )
    for one, other in zip(join.left_keys, join.right_keys):
        left_type, right_type = left.columns[one].type, right.columns[other].type
        if to_column_type(left_type) != to_column_type(right_type):
            raise UnsupportedFeatureError(
                f"a temporal join by {to_sql_text(left_type)} and {to_sql_text(right_type)}", "cast one of them"
            )
