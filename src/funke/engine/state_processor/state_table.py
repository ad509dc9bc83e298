"""State as a table: one row for every key and state, with operator state and timers too."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from funke.engine.errors import StateError
from funke.engine.operators.windowing.windows import Window
from funke.engine.state.descriptors import StateDescriptor
from funke.engine.state.keyed.state_kinds import kind_of
from funke.engine.state.operator_state import OperatorStateSnapshot
from funke.engine.state.storage_keys import original_key
from funke.engine.state_processor.own_reading import operator_states
from funke.engine.state_processor.state_parts import StatePiece, read_chunks, read_own
from funke.engine.state_processor.stored_values import value_and_time
from funke.engine.state_processor.value_text import to_value_text
from funke.engine.types import TypeInformation, Types
from funke.engine.types.columns.column_batch import ColumnBatch

__all__ = ["STATE_COLUMNS", "Columns", "StateTable", "TypedStateTable"]

Columns = list[tuple[str, TypeInformation]]

STATE_COLUMNS: Columns = [
    ("operator", Types.STRING()),
    ("uid", Types.STRING()),
    ("state", Types.STRING()),
    ("kind", Types.STRING()),
    ("namespace", Types.STRING()),
    ("key_group", Types.INT()),
    ("key", Types.STRING()),
    ("value", Types.STRING()),
    ("ttl_time", Types.LONG()),
]


@dataclass(frozen=True)
class StateTable:
    """The states of operators; keys and values of any type are texts."""

    # By operator id: name and uid.
    operators: dict[str, tuple[str, str | None]]

    @property
    def columns(self) -> Columns:
        """Names and types of the columns."""
        return STATE_COLUMNS

    def rows(self, piece: StatePiece) -> Iterator[tuple[Any, ...]]:
        """The rows of one piece."""
        operator, uid = self.operators[piece.operator_id]
        for state, kind, namespace, group, key, value, time in _keyed(piece) if piece.is_keyed else _own(piece):
            strings = to_value_text(key), to_value_text(value)
            yield operator, uid, state, kind, _namespace_text(namespace), group, *strings, time


def _keyed(piece: StatePiece) -> Iterator[tuple[Any, ...]]:
    for group, part in read_chunks(piece):
        for table_id, table in part.tables.items():
            for key, stored in table.items():
                value, time = value_and_time(table_id, stored)
                if isinstance(value, ColumnBatch):
                    # Rows of SQL operators that are kept as columns: their keys are among the columns.
                    for row in value.data.to_pylist():
                        yield table_id.name, table_id.kind, table_id.namespace, group, None, row, time
                    continue
                yield table_id.name, table_id.kind, table_id.namespace, group, original_key(key), value, time
        for kind, timers in (("event-timer", part.event_timers), ("processing-timer", part.processing_timers)):
            for time, entry in timers:
                key, namespace = entry if _is_of_window(entry) else (entry, None)
                yield None, kind, namespace, group, original_key(key), time, None


def _own(piece: StatePiece) -> Iterator[tuple[Any, ...]]:
    own = read_own(piece)
    if own is not None and not isinstance(own, OperatorStateSnapshot):
        # Of the engine's own operators, such as the writers of sinks.
        yield None, "internal", None, None, None, own, None
    states = operator_states(own)
    for kind, lists in (("operator-list", states.lists), ("union-list", states.unions)):
        for name, elements in lists.items():
            for element in elements:
                yield name, kind, None, None, None, element, None
    # Every subtask holds the same broadcast state.
    for name, entries in states.broadcasts.items() if piece.is_first else ():
        for key, value in entries.items():
            yield name, "broadcast", None, None, key, value, None


def _is_of_window(entry: Any) -> bool:
    return isinstance(entry, tuple) and len(entry) == 2 and isinstance(entry[1], Window)


def _namespace_text(namespace: Any) -> str | None:
    return None if namespace is None else str(namespace)


@dataclass(frozen=True)
class TypedStateTable:
    """One keyed state; values have the type that its descriptor says, keys the one that the user says."""

    name: str
    kind: str
    key_type: TypeInformation | None
    value_type: TypeInformation

    @staticmethod
    def of(descriptor: StateDescriptor, key_type: TypeInformation | None) -> TypedStateTable:
        """The table for a descriptor; of aggregating state it shows the accumulators."""
        return TypedStateTable(descriptor.name, kind_of(descriptor), key_type, descriptor.type_info)

    @property
    def columns(self) -> Columns:
        """Names and types of the columns."""
        return [
            ("key", self.key_type or Types.STRING()),
            ("namespace", Types.STRING()),
            ("value", self.value_type),
            ("key_group", Types.INT()),
            ("ttl_time", Types.LONG()),
        ]

    def rows(self, piece: StatePiece) -> Iterator[tuple[Any, ...]]:
        """The rows of one piece."""
        for group, part in read_chunks(piece):
            for table_id, table in part.tables.items():
                if table_id.name != self.name:
                    continue
                if table_id.kind != self.kind:
                    raise StateError(f"state '{self.name}' is a {table_id.kind} state, not a {self.kind} state")
                namespace = _namespace_text(table_id.namespace)
                for key, stored in table.items():
                    value, time = value_and_time(table_id, stored)
                    yield self._key(original_key(key)), namespace, value, group, time

    def _key(self, key: Any) -> Any:
        return key if self.key_type is not None else to_value_text(key)
