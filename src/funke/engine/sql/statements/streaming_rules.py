"""What streams cannot do, in Flink's words."""

from __future__ import annotations

from funke.engine.flink_exceptions import TableException
from funke.engine.sql.binding.relations import Relation, Sort
from funke.engine.sql.binding.time_attributes import TimeAttribute
from funke.engine.sql.statements.emitted_kinds import inputs_of

__all__ = ["check_streaming"]


def check_streaming(relation: Relation, is_streaming: bool) -> None:
    """Refuse what needs the end of its input, unless there is one."""
    if not is_streaming:
        return
    if isinstance(relation, Sort):
        first = relation.columns[relation.keys[0].index]
        if first.time is not TimeAttribute.ROWTIME or relation.limit is not None:
            raise TableException("Sort on a non-time-attribute field is not supported.")
    for each in inputs_of(relation):
        check_streaming(each, is_streaming)
