"""Functions of users by the module that Flink 1.x had for them."""

from __future__ import annotations

from funke.table.flink_1.old_name_notes import note_old_name
from funke.table.udf import AggregateFunction, ScalarFunction, TableAggregateFunction, TableFunction

__all__ = ["AggregateFunction", "ScalarFunction", "TableAggregateFunction", "TableFunction"]

note_old_name("pyflink.table.functions")
