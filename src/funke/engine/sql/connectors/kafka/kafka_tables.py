"""Sources and sinks of tables in Kafka."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from funke.engine.connectors.kafka.client_properties import ClientProperties
from funke.engine.connectors.kafka.last_rows import HoldingBack
from funke.engine.connectors.kafka.offsets import OffsetsAsker
from funke.engine.connectors.kafka.sink import Guarantee, KafkaSink
from funke.engine.connectors.kafka.source import KafkaSource
from funke.engine.connectors.kafka.table_records import OF_VALUES, TableRecordReader, TableRecordWriter
from funke.engine.flink_exceptions import ValidationException
from funke.engine.graph.operations import Process
from funke.engine.graph.partitioners import Hash
from funke.engine.operators.functions.process_functions import KeyedProcessFunction
from funke.engine.sql.binding.relations import Column
from funke.engine.sql.connectors.table_sink import ALL_CHANGES, UPSERTS, TableSink
from funke.engine.sql.connectors.table_source import TableSource
from funke.engine.sql.stream_types import row_type_of
from funke.engine.state.descriptors import ValueStateDescriptor
from funke.engine.types import Row, RowKind
from funke.engine.types.logical import (
    BigIntType,
    IntType,
    LocalZonedTimestampType,
    MapType,
    RowField,
    VarBinaryType,
    VarCharType,
)

if TYPE_CHECKING:
    from funke.engine.connectors.sink import Sink
    from funke.engine.graph.builder import GraphBuilder, StreamRef
    from funke.engine.types import TypeInformation
    from funke.engine.types.logical import DataType

__all__ = ["KafkaTableSink", "KafkaTableSource"]

_LONGEST = 2**31 - 1
_TEXT = VarCharType(_LONGEST, False)
_BYTES = VarBinaryType(_LONGEST, False)
_READABLE: Mapping[str, DataType] = {
    "topic": _TEXT,
    "partition": IntType(False),
    "headers": MapType(_TEXT, _BYTES, False),
    "leader-epoch": IntType(True),
    "offset": BigIntType(False),
    "timestamp": LocalZonedTimestampType(3, False),
    "timestamp-type": _TEXT,
}
_WRITABLE: Mapping[str, DataType] = {
    "headers": MapType(_TEXT, VarBinaryType(_LONGEST, True), True),
    "timestamp": LocalZonedTimestampType(3, True),
}


@dataclass(frozen=True)
class KafkaTableSource(TableSource):
    """Rows of topics."""

    source: KafkaSource
    records: TableRecordReader
    primary_key: tuple[str, ...] = ()

    @property
    def summary(self) -> str:
        return "upsert-kafka" if self.records.is_upsert else "kafka"

    @property
    def kinds(self) -> frozenset[RowKind]:  # type: ignore[override]
        # Not UPSERTS: the operator that `add_to` puts behind the source has added the rows before.
        return ALL_CHANGES if self.records.is_upsert else self.records.value.kinds

    @property
    def columns(self) -> tuple[Column, ...]:
        return tuple(Column(each.name, each.data_type) for each in self.records.all_fields)

    def create_source(self) -> KafkaSource:
        return replace(self.source, records=self.records, produced_type=row_type_of(self.columns))

    @property
    def metadata(self) -> Mapping[str, DataType]:
        of_values = self.records.value.metadata.items()
        return {**_READABLE, **{f"{OF_VALUES}{key}": kind for key, kind in of_values}}

    def with_metadata(self, columns: Sequence[tuple[str, str]]) -> KafkaTableSource:
        types, records = self.metadata, self.records
        fields = tuple((key, RowField(name, types[key])) for key, name in columns)
        format_metadata = [key.removeprefix(OF_VALUES) for key, _ in columns if key.startswith(OF_VALUES)]
        value = records.value.with_metadata(format_metadata) if format_metadata else records.value
        return replace(self, records=replace(records, value=value, metadata=fields))

    def add_to(self, builder: GraphBuilder, columns: Sequence[Column], uid_prefix: str) -> StreamRef:
        """Records of upserts become changes: an operator keeps the last row of each key."""
        rows = super().add_to(builder, columns, uid_prefix)
        if not self.records.is_upsert:
            return rows
        # A record of an upsert topic has the new row of a key. Operators behind it need the row before as well.
        names = [each.name for each in columns]
        indexes = tuple(names.index(each) for each in self.primary_key)

        def key_of(row: Row) -> tuple[Any, ...]:
            return tuple(row[index] for index in indexes)

        return builder.add(
            Process(_Changes(row_type_of(columns)), key_of),
            [rows.partitioned(Hash(key_of))],
            name=f"ChangelogNormalize: {self.summary}",
            type_info=row_type_of(columns),
            uid=builder.new_uid(uid_prefix),
        )


class _Changes(KeyedProcessFunction):
    """Turns upserts into changes: the first row of a key is an insert, later ones retract the row before."""

    def __init__(self, row_type: TypeInformation) -> None:
        self._type = row_type

    def open(self, runtime_context: Any) -> None:
        self._last = runtime_context.get_state(ValueStateDescriptor("row", self._type))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Row]:
        before = self._last.value()
        if value.get_row_kind() in (RowKind.DELETE, RowKind.UPDATE_BEFORE):
            # The record of a deletion has the key alone; the row that goes is the one in state.
            if before is not None:
                self._last.clear()
                yield _with_kind(before, RowKind.DELETE)
            return
        if before is None:
            self._last.update(_with_kind(value, RowKind.INSERT))
            yield _with_kind(value, RowKind.INSERT)
        # As in Flink's ChangelogNormalize an equal row is no change.
        elif list(before) != list(value):
            self._last.update(_with_kind(value, RowKind.INSERT))
            yield _with_kind(before, RowKind.UPDATE_BEFORE)
            yield _with_kind(value, RowKind.UPDATE_AFTER)


def _with_kind(row: Row, kind: RowKind) -> Row:
    copied = row.copy() if hasattr(row, "copy") else Row(*row)
    copied.set_row_kind(kind)
    return copied


@dataclass(frozen=True)
class _PartitionCount:
    """Asks how many partitions a topic has."""

    properties: ClientProperties

    def __call__(self, topic: str) -> int:
        return len(OffsetsAsker(self.properties).partitions_of_topics([topic]))


@dataclass(frozen=True)
class KafkaTableSink(TableSink):
    """Rows into a topic, or into the one that each of them names."""

    properties: ClientProperties
    records: TableRecordWriter
    guarantee: Guarantee = "at-least-once"
    transactional_id_prefix: str | None = None
    parallelism: int | None = None
    holding_back: HoldingBack | None = None

    @property
    def summary(self) -> str:
        return "upsert-kafka" if self.records.is_upsert else "kafka"

    def accepted_kinds(self, requested: frozenset[RowKind]) -> frozenset[RowKind]:
        return UPSERTS if self.records.is_upsert else self.records.value.kinds

    def create_sink(self, columns: Sequence[Column], upsert_key: Sequence[int] = ()) -> Sink:
        if self.records.topics.only is None and "topic" not in self.records.metadata:
            raise ValidationException(
                f"Rows must say which of the table's topics they go to ({self.records.topics.summary}): declare a "
                "column `topic` STRING METADATA."
            )
        # Only a partitioner of the program has to be told the number of partitions; the client knows it.
        count = None if self.records.partitioner is None else _PartitionCount(self.properties)
        records = replace(self.records, partitions=count)
        return KafkaSink(self.properties, records, self.guarantee, self.transactional_id_prefix, self.holding_back)

    @property
    def metadata(self) -> Mapping[str, DataType]:
        return _WRITABLE if self.records.topics.only else {"topic": _TEXT, **_WRITABLE}

    def with_metadata(self, keys: Sequence[str]) -> KafkaTableSink:
        return replace(self, records=replace(self.records, metadata=tuple(keys)))
