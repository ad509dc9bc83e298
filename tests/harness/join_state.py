"""What tests of joins share: the backends that keep their rows, and the subtasks that rows belong to."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from funke.engine.formats.column_types import to_type_info
from funke.engine.sql.operators.joins import stored_join_rows
from funke.engine.sql.operators.joins.stored_join_rows import StoredJoinRows
from funke.engine.state.backend_choice import BackendChoice
from funke.engine.types.columns.column_hash import groups_of_columns
from funke.engine.types.keys.key_groups import KeyGroups
from funke.engine.types.logical.sql_text import from_sql_text
from tests.harness.backends import choice_of

JOIN_BACKENDS = ("hashmap", "rocksdb", "rocksdb-without-memory")


def join_backend(name: str, monkeypatch: pytest.MonkeyPatch) -> BackendChoice:
    """A backend; without memory rows leave it after every batch, but for the half that was used last."""
    if name == "rocksdb-without-memory":
        monkeypatch.setattr(stored_join_rows, "_FEW_ROWS", 0)
        monkeypatch.setattr(StoredJoinRows, "end_batch", StoredJoinRows._leave_memory)
    return choice_of(name.removesuffix("-without-memory"))


def subtask_of(key: Any, parallelism: int) -> int:
    """The subtask that the rows of an INT key belong to."""
    group = int(
        groups_of_columns([pa.array([key], pa.int32())], [to_type_info(from_sql_text("INT"))], KeyGroups(128))[0]
    )
    return group * parallelism // 128
