"""Changes of the log as batches of columns with kinds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from funke.engine.connectors.postgres_cdc.pgoutput import UNCHANGED, Begin, Change, LogRelation, Truncate
from funke.engine.connectors.postgres_cdc.seam import Seam
from funke.engine.connectors.postgres_cdc.settings import CdcSettings, SourceTable
from funke.engine.connectors.postgres_cdc.text_columns import column_reader
from funke.engine.errors import SourceError
from funke.engine.formats.table.table_format import schema_of
from funke.engine.types.columns.column_batch import ColumnBatch
from funke.engine.types.logical.data_types import DataTypes
from funke.engine.types.logical.row_type import RowField
from funke.engine.types.row import RowKind

__all__ = ["METADATA", "ChangeRows", "metadata_columns", "output_fields"]

_INSERT, _BEFORE, _AFTER, _DELETE = (kind.value for kind in RowKind)

# What can be told beside a row, as Flink's connector names it.
METADATA: Mapping[str, Any] = {
    "table_name": DataTypes.STRING(False),
    "schema_name": DataTypes.STRING(False),
    "database_name": DataTypes.STRING(False),
    "op_ts": DataTypes.TIMESTAMP_LTZ(3, False),
}
# Asks for values of the row with a key: table, columns, key.
Fetch = Callable[[SourceTable, Sequence[str], Sequence[str]], Sequence[Any] | None]


def output_fields(settings: CdcSettings) -> tuple[RowField, ...]:
    """The columns of the rows that are given."""
    return (*settings.fields, *(RowField(name, METADATA[key]) for key, name in settings.metadata))


def metadata_columns(settings: CdcSettings, tables: Sequence[tuple[str, str]], times_ms: Sequence[int]) -> list[Any]:
    """The columns of metadata for rows of tables (schema, name) that were changed at some times."""
    columns = {
        "table_name": lambda: pa.array([name for _, name in tables], pa.string()),
        "schema_name": lambda: pa.array([schema for schema, _ in tables], pa.string()),
        "database_name": lambda: pa.array([settings.database.settings["dbname"]] * len(tables), pa.string()),
        "op_ts": lambda: pa.array(times_ms, pa.int64()).cast(pa.timestamp("ms", "UTC")),
    }
    return [columns[key]() for key, _ in settings.metadata]


class ChangeRows:
    """Gathers rows of changes until they are taken as a batch."""

    def __init__(self, settings: CdcSettings, tables: Sequence[SourceTable], fetch: Fetch) -> None:
        self._settings = settings
        self._tables = {(each.schema, each.name): each for each in tables}
        self._fetch = fetch
        self._schema = schema_of(output_fields(settings))
        self._readers = [column_reader(each.name, each.data_type) for each in settings.fields]
        self._relations: dict[int, _Layout] = {}
        self._transaction: Begin | None = None
        self._clear()

    def _clear(self) -> None:
        self._kinds: list[int] = []
        self._rows: list[list[Any]] = []
        self._origins: list[tuple[str, str]] = []
        self._times_ms: list[int] = []

    def __len__(self) -> int:
        return len(self._rows)

    def relate(self, relation: LogRelation) -> None:
        """Changes of a table follow, which may have other columns than before."""
        table = self._tables.get((relation.schema, relation.name))
        layout = None if table is None else _Layout(self._settings, table, relation)
        if layout is None:
            self._relations.pop(relation.id, None)
        else:
            self._relations[relation.id] = layout

    def begin(self, transaction: Begin) -> None:
        self._transaction = transaction

    def truncate(self, truncated: Truncate) -> None:
        known = [self._relations[each] for each in truncated.relation_ids if each in self._relations]
        if known and not self._settings.ignores_truncate:
            raise SourceError(
                f"the table {known[0].table.path} was truncated, and the log does not say which rows it had. Start the "
                "job anew with another slot, or set 'debezium.skipped.operations' = 't' to go on without their deletion"
            )

    def add(self, change: Change, seam: Seam | None) -> None:
        """Adds the rows of a change, but for those that were read with the table."""
        layout = self._relations.get(change.relation_id)
        if layout is None:
            return
        for kind, values in _paired([each for each in self._images(change, layout) if layout.counts(each[1], seam)]):
            self._kinds.append(kind)
            self._rows.append(layout.chosen(values))
            self._origins.append((layout.table.schema, layout.table.name))
            self._times_ms.append(0 if self._transaction is None else self._transaction.committed_ms)

    def _images(self, change: Change, layout: _Layout) -> Iterator[tuple[int, list[Any]]]:
        old, new = change.old, change.new
        if new is not None and UNCHANGED in new:
            new = self._completed(change, layout)
        if change.kind == "I":
            assert new is not None
            yield _INSERT, new
        elif self._settings.is_upsert:
            yield from self._upserts(layout, old, new)
        elif old is None or not change.has_whole_old:
            raise SourceError(
                f'The "before" field of a message of {layout.table.path} is null, please check the Postgres table has '
                "been set REPLICA IDENTITY to FULL level."
            )
        elif new is None:
            yield _DELETE, old
        else:
            yield _BEFORE, old
            yield _AFTER, new

    @staticmethod
    def _upserts(layout: _Layout, old: list[Any] | None, new: list[Any] | None) -> Iterator[tuple[int, list[Any]]]:
        if old is not None and (new is None or layout.key_of(old) != layout.key_of(new)):
            yield _DELETE, old
        if new is not None:
            yield _AFTER, new

    def _completed(self, change: Change, layout: _Layout) -> list[Any]:
        """A row whose long values did not change: they are in the row before, or else in the table.

        What the table holds may be newer than the change; then a later change will say so.
        """
        new = list(change.new or ())
        places = [place for place, value in enumerate(new) if value is UNCHANGED]
        if change.has_whole_old and change.old is not None:
            for place in places:
                new[place] = change.old[place]
            return new
        columns = [layout.relation.columns[place] for place in places]
        found = self._fetch(layout.table, columns, layout.key_of(new))
        for number, place in enumerate(places):
            new[place] = None if found is None else found[number]
        return new

    def take(self) -> ColumnBatch:
        """The rows so far."""
        columns = [read(list(texts)) for read, texts in zip(self._readers, zip(*self._rows))]
        columns += metadata_columns(self._settings, self._origins, self._times_ms)
        kinds = np.array(self._kinds, np.int8)
        self._clear()
        return ColumnBatch(
            pa.RecordBatch.from_arrays(columns, schema=self._schema), None, kinds if kinds.any() else None
        )


class _Layout:
    """Where the columns that are wanted stand among those of the log."""

    def __init__(self, settings: CdcSettings, table: SourceTable, relation: LogRelation) -> None:
        self.table = table
        self.relation = relation
        places = {name: place for place, name in enumerate(relation.columns)}
        missing = [each.name for each in settings.fields if each.name not in places]
        if missing:
            raise SourceError(f"the table {table.path} has lost its column {', '.join(missing)}")
        self._chosen = [places[each.name] for each in settings.fields]
        self._key = [places[name] for name in table.key]
        self._chunk_place = None if table.chunk_column is None else places[table.chunk_column]

    def chosen(self, values: list[Any]) -> list[Any]:
        return [values[place] for place in self._chosen]

    def key_of(self, values: list[Any]) -> list[Any]:
        return [values[place] for place in self._key]

    def counts(self, values: list[Any], seam: Seam | None) -> bool:
        if seam is None:
            return True
        key = None if self._chunk_place is None else values[self._chunk_place]
        return not seam.leaves_out(self.table.schema, self.table.name, key)


def _paired(images: list[tuple[int, list[Any]]]) -> list[tuple[int, list[Any]]]:
    """Half of an update is a deletion or an insertion."""
    if len(images) == 1:
        kind, values = images[0]
        if kind == _BEFORE:
            return [(_DELETE, values)]
    return images
