"""Changes of databases as JSON, as Debezium, Canal, Maxwell and GoldenGate write them.

A batch of messages is parsed as a table of envelopes; rows before and after changes are columns inside of it. Nothing
is done for single messages but where Canal and Maxwell leave out values that did not change.
"""

from __future__ import annotations

import json
import re
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from funke.engine.formats.messages.change_metadata import CANAL, DEBEZIUM, MAXWELL, OGG, ChangeMetadata
from funke.engine.formats.messages.line_messages import parsed_lines
from funke.engine.formats.messages.message_format import ALL_KINDS, DecodedRows, MessageDecoder
from funke.engine.formats.table.json_columns import JsonTableFormat
from funke.engine.formats.table.table_format import schema_of
from funke.engine.types.logical import DataTypes, RowField, RowType
from funke.engine.types.row import RowKind

if TYPE_CHECKING:
    from funke.engine.types.logical import DataType

__all__ = ["CanalJsonDecoder", "ChangeJsonDecoder", "DebeziumJsonDecoder", "MaxwellJsonDecoder", "OggJsonDecoder"]

_INSERT, _UPDATE, _DELETE, _NOTHING, _UNKNOWN = range(5)
_OLD = re.compile(rb'"old"\s*:\s*')
_DECODER = json.JSONDecoder()


@dataclass(frozen=True)
class Changes:
    """Changes of rows: what each is, the row as it is then, as it was before, and the number of its message."""

    kinds: Any
    after: Any
    before: Any
    # Of deletions: the field with the deleted row.
    deleted: Any
    numbers: Any


@dataclass(frozen=True)
class ChangeJsonDecoder(MessageDecoder):
    """Decodes envelopes; what they look like, subclasses say."""

    columns: tuple[RowField, ...]
    ignores_errors: bool = False
    is_iso: bool = False
    # Keys of the metadata columns, which follow the row's columns.
    metadata_keys: tuple[str, ...] = ()
    kinds = ALL_KINDS
    # Who writes such messages, for errors.
    writer = ""
    # What its messages tell beside rows.
    beside: ClassVar[Mapping[str, ChangeMetadata]] = {}

    @property
    def fields(self) -> tuple[RowField, ...]:
        return (*self.columns, *(RowField(key, self.beside[key].type) for key in self.metadata_keys))

    @property
    def metadata(self) -> Mapping[str, DataType]:  # type: ignore[override]
        return {key: each.type for key, each in self.beside.items()}

    def with_metadata(self, keys: Sequence[str]) -> ChangeJsonDecoder:
        return replace(self, metadata_keys=tuple(keys))

    def selecting(self, indexes: Sequence[int]) -> ChangeJsonDecoder:
        return replace(self, columns=tuple(self.columns[index] for index in indexes))

    @property
    def row(self) -> RowType:
        return RowType(list(self.columns))

    @property
    @abstractmethod
    def rows(self) -> tuple[RowField, ...]:
        """What of a message is about rows."""

    @property
    def envelope(self) -> tuple[RowField, ...]:
        """The fields of a message that are read: those of rows, and metadata."""
        named = {each.name for each in self.rows}
        sources = {field.name: field for field in (self.beside[key].source for key in self.metadata_keys)}
        return (*self.rows, *(field for name, field in sources.items() if name not in named))

    def envelope_columns(self, envelopes: Any) -> list[Any]:
        """The metadata columns, by message."""
        return [self.beside[key].column(envelopes.column(self.beside[key].source.name)) for key in self.metadata_keys]

    @abstractmethod
    def changes(self, envelopes: Any, messages: Sequence[bytes]) -> Changes:
        """Find the changes in parsed messages."""

    def decode(self, messages: Sequence[bytes | None]) -> DecodedRows:
        form = JsonTableFormat(self.envelope, ignores_errors=self.ignores_errors, is_iso=self.is_iso)
        try:
            envelopes, origins = parsed_lines(form.parser(), messages, schema_of(self.envelope), joins_lines=True)
        except ValueError as error:
            raise ValueError(f"Corrupt {self.writer} JSON message: {error}") from None
        changes = self.changes(envelopes, [messages[index] or b"" for index in origins])
        return self._decoded(changes, origins, messages, self.envelope_columns(envelopes))

    def _decoded(
        self, changes: Changes, origins: Any, messages: Sequence[bytes | None], envelope_values: list[Any]
    ) -> DecodedRows:
        kinds = changes.kinds.copy()
        self._check(changes, kinds, lambda change: messages[origins[changes.numbers[change]]] or b"")
        going = np.flatnonzero((kinds == _UPDATE) | (kinds == _DELETE))
        coming = np.flatnonzero((kinds == _INSERT) | (kinds == _UPDATE))
        is_update = kinds[going] == _UPDATE
        parts = [
            changes.before.take(pa.array(going[is_update])),
            changes.deleted.take(pa.array(going[~is_update])),
            changes.after.take(pa.array(coming)),
        ]
        # The row before an update comes right before the one after it.
        keys = np.concatenate([2 * going[is_update], 2 * going[~is_update], 2 * coming + 1])
        order = np.argsort(keys, kind="stable")
        rows = pa.concat_arrays(parts).take(pa.array(order))
        numbers = changes.numbers[keys[order] // 2]
        columns = [*rows.flatten(), *(each.take(pa.array(numbers)) for each in envelope_values)]
        schema = schema_of(self.fields)
        data = pa.RecordBatch.from_arrays(
            [each.cast(kind) for each, kind in zip(columns, schema.types)], schema=_nullable(schema)
        )
        row_kinds = np.concatenate(
            [
                np.full(int(is_update.sum()), RowKind.UPDATE_BEFORE.value, np.int8),
                np.full(int((~is_update).sum()), RowKind.DELETE.value, np.int8),
                np.where(kinds[coming] == _INSERT, RowKind.INSERT.value, RowKind.UPDATE_AFTER.value).astype(np.int8),
            ]
        )[order]
        return DecodedRows(data, row_kinds if row_kinds.any() else None, origins[numbers])

    def _check(self, changes: Changes, kinds: Any, message_of: Any) -> None:
        """Rejects, or leaves out, what is unknown and changes that lack a row."""
        lacks = {
            "after": _is_null(changes.after) & ((kinds == _INSERT) | (kinds == _UPDATE)),
            "before": (_is_null(changes.before) & (kinds == _UPDATE))
            | (_is_null(changes.deleted) & (kinds == _DELETE)),
        }
        bad = (kinds == _UNKNOWN) | lacks["after"] | lacks["before"]
        if not bad.any():
            return
        if self.ignores_errors:
            kinds[bad] = _NOTHING
            return
        index = int(np.flatnonzero(bad)[0])
        text = message_of(index)[:500].decode("utf-8", "replace")
        if kinds[index] == _UNKNOWN:
            raise ValueError(f"Unknown kind of change. The {self.writer} JSON message is '{text}'")
        raise ValueError(f"{self._lacking(lacks['after'][index])} The {self.writer} JSON message is '{text}'")

    def _lacking(self, is_after: bool) -> str:
        return f"The row {'after' if is_after else 'before'} the change is null."


@dataclass(frozen=True)
class DebeziumJsonDecoder(ChangeJsonDecoder):
    """`{"before": …, "after": …, "op": "c"}`, perhaps as the payload beside a schema."""

    has_schema: bool = False
    writer = "Debezium"
    beside = DEBEZIUM

    @property
    def rows(self) -> tuple[RowField, ...]:
        return (RowField("before", self.row), RowField("after", self.row), RowField("op", DataTypes.STRING()))

    @property
    def envelope(self) -> tuple[RowField, ...]:
        inner = super().envelope
        if not self.has_schema:
            return inner
        # The schema stands beside everything else.
        outer = tuple(each for each in inner if each.name == "schema")
        return (RowField("payload", RowType([each for each in inner if each not in outer])), *outer)

    def envelope_columns(self, envelopes: Any) -> list[Any]:
        return super().envelope_columns(self._content(envelopes))

    def _content(self, envelopes: Any) -> Any:
        if not self.has_schema:
            return envelopes
        payload = envelopes.column(0)
        names = [each.name for each in payload.type] + envelopes.schema.names[1:]
        return pa.RecordBatch.from_arrays([*payload.flatten(), *envelopes.columns[1:]], names)

    def changes(self, envelopes: Any, messages: Sequence[bytes]) -> Changes:
        before, after, operations = self._content(envelopes).columns[:3]
        kinds = _kinds(operations, {"c": _INSERT, "r": _INSERT, "u": _UPDATE, "d": _DELETE})
        return Changes(kinds, after, before, before, np.arange(len(kinds)))

    def _lacking(self, is_after: bool) -> str:
        if is_after:
            return super()._lacking(is_after)
        return (
            'The "before" field of the message is null, if you are using Debezium Postgres Connector, please check the '
            "Postgres table has been set REPLICA IDENTITY to FULL level."
        )


@dataclass(frozen=True)
class OggJsonDecoder(ChangeJsonDecoder):
    """`{"before": …, "after": …, "op_type": "I"}`; truncations are not row changes."""

    writer = "Ogg"
    beside = OGG

    @property
    def rows(self) -> tuple[RowField, ...]:
        return (RowField("before", self.row), RowField("after", self.row), RowField("op_type", DataTypes.STRING()))

    def changes(self, envelopes: Any, messages: Sequence[bytes]) -> Changes:
        before, after, operations = envelopes.columns[:3]
        kinds = _kinds(operations, {"I": _INSERT, "U": _UPDATE, "D": _DELETE, "T": _NOTHING})
        return Changes(kinds, after, before, before, np.arange(len(kinds)))


@dataclass(frozen=True)
class MaxwellJsonDecoder(ChangeJsonDecoder):
    """`{"data": …, "old": …, "type": "insert"}`; `old` holds what has changed only."""

    writer = "Maxwell"
    beside = MAXWELL

    @property
    def rows(self) -> tuple[RowField, ...]:
        return (RowField("data", self.row), RowField("old", self.row), RowField("type", DataTypes.STRING()))

    def changes(self, envelopes: Any, messages: Sequence[bytes]) -> Changes:
        data, old, operations = envelopes.columns[:3]
        kinds = _kinds(operations, {"insert": _INSERT, "update": _UPDATE, "delete": _DELETE})
        numbers = np.arange(len(kinds))
        return Changes(kinds, data, _completed(old, data, kinds, numbers, messages), data, numbers)


@dataclass(frozen=True)
class CanalJsonDecoder(ChangeJsonDecoder):
    """`{"data": [ … ], "old": [ … ], "type": "INSERT"}`: several rows in one message."""

    # Patterns that names must match as a whole; other messages are left out.
    database: str | None = None
    table: str | None = None
    writer = "Canal"
    beside = CANAL

    @property
    def rows(self) -> tuple[RowField, ...]:
        rows = DataTypes.ARRAY(self.row)
        text = DataTypes.STRING()
        names = (RowField("database", text), RowField("table", text))
        return (RowField("data", rows), RowField("old", rows), RowField("type", text), *names)

    def changes(self, envelopes: Any, messages: Sequence[bytes]) -> Changes:
        data, old, operations, database, table = envelopes.columns[:5]
        kinds_by_name = {"INSERT": _INSERT, "UPDATE": _UPDATE, "DELETE": _DELETE, "CREATE": _NOTHING}
        kinds = _kinds(operations, kinds_by_name)
        kinds[~(_matching(database, self.database) & _matching(table, self.table))] = _NOTHING
        numbers = pc.list_parent_indices(data).to_numpy().astype(np.int64)
        lengths = pc.fill_null(pc.list_value_length(data), 0).to_numpy(zero_copy_only=False).astype(np.int64)
        within = np.arange(len(numbers)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        rows = data.flatten()
        before = _completed(_elements(old, numbers, within), rows, kinds[numbers], numbers, messages)
        # A message of an unknown kind is an error, even without rows.
        alone = np.flatnonzero((lengths == 0) & (kinds != _NOTHING))
        nothing = pa.nulls(len(alone), rows.type)
        return Changes(
            np.concatenate([kinds[numbers], kinds[alone]]),
            pa.concat_arrays([rows, nothing]),
            pa.concat_arrays([before, nothing]),
            pa.concat_arrays([rows, nothing]),
            np.concatenate([numbers, alone]),
        )


def _kinds(operations: Any, kinds_by_name: dict[str, int]) -> Any:
    return np.array([kinds_by_name.get(each, _UNKNOWN) for each in operations.to_pylist()], np.int8)


def _is_null(column: Any) -> Any:
    return column.is_null().to_numpy(zero_copy_only=False)


def _matching(names: Any, pattern: str | None) -> Any:
    if pattern is None:
        return np.ones(len(names), bool)
    matches = re.compile(pattern).fullmatch
    return np.array([bool(matches(name or "")) for name in names.to_pylist()], bool)


def _elements(lists: Any, numbers: Any, within: Any) -> Any:
    """The element at a place of each list; null where it has none."""
    lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False).astype(np.int64)
    starts = np.cumsum(lengths) - lengths
    is_there = within < lengths[numbers] if len(numbers) else np.empty(0, bool)
    indexes = pa.array(starts[numbers] + within, pa.int64(), mask=~is_there)
    return lists.flatten().take(indexes)


def _completed(old: Any, rows: Any, kinds: Any, numbers: Any, messages: Sequence[bytes]) -> Any:
    """Rows before updates: values that `old` does not have are those after; a null that it has is one."""
    updates = np.flatnonzero((kinds == _UPDATE) & ~_is_null(old)) if len(kinds) else np.empty(0, np.int64)
    if not len(updates):
        return old
    old_names = [_old_names(messages[numbers[index]]) for index in updates]
    columns = []
    for name, before, after in zip((each.name for each in old.type), old.flatten(), rows.flatten()):
        is_kept: Any = np.ones(len(old), bool)
        is_kept[updates] = [name in names for names in old_names]
        columns.append(pc.if_else(pa.array(is_kept), before, after))
    return pa.StructArray.from_arrays(columns, fields=list(_nullable(old.type)), mask=old.is_null())


def _old_names(message: bytes) -> set[str]:
    """The names that the rows before an update have."""
    indexes = [match.end() for match in _OLD.finditer(message)]
    # One place cannot be another's: within texts, quotes have a sign before them. The rest of the message is not read.
    old = (
        _DECODER.raw_decode(message[indexes[0] :].decode())[0] if len(indexes) == 1 else json.loads(message).get("old")
    )
    return {name for each in (old if isinstance(old, list) else [old]) for name in each or ()}


def _nullable(schema: Any) -> Any:
    fields = [each.with_nullable(True) for each in schema]
    return pa.schema(fields) if isinstance(schema, pa.Schema) else pa.struct(fields)
