"""What each format of messages costs: microseconds for decoding a record into columns, and for encoding it.

python benchmarks/formats.py          prints a table for docs/benchmarks.md; `run.py --only formats` measures the same
"""

from __future__ import annotations

import datetime
import json
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import pyarrow as pa

from funke.engine.formats.messages.schema_registry import _NUMBERS, _SCHEMAS, SchemaRegistry
from funke.engine.formats.table.avro_writer import avro_schema
from funke.engine.formats.table.table_format import schema_of
from funke.engine.sql.connectors.formats.file_formats import find_file_format
from funke.engine.sql.connectors.table_option import OptionValues
from funke.engine.types.logical.data_types import DataTypes
from funke.engine.types.logical.row_type import RowField

__all__ = ["FormatCost", "format_costs", "format_table"]

# As many as a reader takes at once.
RECORDS = 5_000
RUNS = 7
BYTES = 200
REGISTRY = SchemaRegistry("http://localhost:1")
FIELDS = (
    RowField("id", DataTypes.BIGINT()),
    RowField("name", DataTypes.STRING()),
    RowField("price", DataTypes.DOUBLE()),
    RowField("at", DataTypes.TIMESTAMP(3)),
    RowField("note", DataTypes.STRING()),
)
TEXT = (RowField("line", DataTypes.STRING()),)
START = datetime.datetime(2026, 11, 16, 12)
Row = dict[str, Any]


@dataclass(frozen=True)
class FormatCost:
    """Of one format; None for what it cannot do."""

    name: str
    message_bytes: float
    decode_us: float
    encode_us: float | None


def row(number: int, pad: int) -> Row:
    """A row whose note is so long."""
    at = START + datetime.timedelta(milliseconds=number)
    return {"id": number, "name": f"name-{number % 1000}", "price": number / 4, "at": at, "note": "x" * pad}


def columns(rows: list[Row], fields: tuple[RowField, ...] = FIELDS) -> Any:
    """The rows as a record batch."""
    return pa.RecordBatch.from_pylist(rows, schema=schema_of(fields))


def plain(each: Row) -> Row:
    """As JSON has it."""
    return {**each, "at": each["at"].isoformat(sep=" ", timespec="milliseconds")}


def debezium(each: Row) -> Row:
    """An update."""
    return {"before": plain({**each, "price": 0.5}), "after": plain(each), "op": "u"}


def debezium_with_schema(each: Row) -> Row:
    """An update beside what Kafka Connect says of its types."""
    members = [{"field": field.name, "optional": True, "type": "string"} for field in FIELDS]
    return {"schema": {"type": "struct", "fields": members}, "payload": debezium(each)}


def ogg(each: Row) -> Row:
    """An update."""
    return {"before": plain({**each, "price": 0.5}), "after": plain(each), "op_type": "U"}


def canal(each: Row) -> Row:
    """An update of one row."""
    return {"data": [plain(each)], "old": [{"price": 0.5}], "type": "UPDATE", "database": "d", "table": "t"}


def maxwell(each: Row) -> Row:
    """An update."""
    return {"data": plain(each), "old": {"price": 0.5}, "type": "update"}


CHANGES: dict[str, tuple[str, dict[str, str], Callable[[Row], Row]]] = {
    "debezium-json": ("debezium-json", {}, debezium),
    "debezium-json with schema": ("debezium-json", {"schema-include": "true"}, debezium_with_schema),
    "canal-json": ("canal-json", {}, canal),
    "maxwell-json": ("maxwell-json", {}, maxwell),
    "ogg-json": ("ogg-json", {}, ogg),
}


def format_costs() -> list[FormatCost]:
    """What every format costs."""
    costs = [_plain_cost(name, {}) for name in ("json", "csv", "avro")]
    schema = json.dumps(avro_schema(FIELDS))
    _SCHEMAS[REGISTRY, 1] = schema
    _NUMBERS[REGISTRY, "bench", schema] = 1
    costs.append(_plain_cost("avro-confluent", {"url": REGISTRY.url, "subject": "bench"}))
    costs.append(_raw_cost())
    return costs + [_change_cost(name, *how) for name, how in CHANGES.items()]


def _plain_cost(name: str, options: dict[str, str]) -> FormatCost:
    form, values = find_file_format(name), OptionValues(options)
    encoder, decoder = form.create_encoder(FIELDS, values), form.create_decoder(FIELDS, values)
    short = encoder.encode(columns([row(RECORDS, 0)]), None)[0]
    assert short is not None
    data = columns([row(number, BYTES - len(short)) for number in range(RECORDS)])
    messages = encoder.encode(data, None)
    assert decoder.decode(messages).data.num_rows == RECORDS
    return _cost(name, messages, decoder, lambda: encoder.encode(data, None))


def _raw_cost() -> FormatCost:
    form, values = find_file_format("raw"), OptionValues({})
    data = columns([{"line": f"{number:0{BYTES}d}"} for number in range(RECORDS)], TEXT)
    encoder = form.create_encoder(TEXT, values)
    messages = encoder.encode(data, None)
    return _cost("raw (text)", messages, form.create_decoder(TEXT, values), lambda: encoder.encode(data, None))


def _change_cost(name: str, form_name: str, options: dict[str, str], envelope: Callable[[Row], Row]) -> FormatCost:
    form = find_file_format(form_name)
    decoder = form.create_decoder(FIELDS, OptionValues(options))
    pad = max(0, BYTES - len(_text(envelope(row(RECORDS, 0)))))
    rows = [row(number, pad) for number in range(RECORDS)]
    messages = [_text(envelope(each)) for each in rows]
    assert decoder.decode(messages).data.num_rows == 2 * RECORDS
    if options:
        return _cost(name, messages, decoder, None)
    encoder, data = form.create_encoder(FIELDS, OptionValues({})), columns(rows)
    return _cost(name, messages, decoder, lambda: encoder.encode(data, None))


def _text(message: Row) -> bytes:
    return json.dumps(message, separators=(",", ":")).encode()


def _cost(name: str, messages: Any, decoder: Any, encode: Callable[[], object] | None) -> FormatCost:
    size = sum(map(len, messages)) / len(messages)
    decode_us = _record_us(lambda: decoder.decode(messages))
    return FormatCost(name, size, decode_us, None if encode is None else _record_us(encode))


def _record_us(work: Callable[[], object]) -> float:
    work()
    seconds = []
    for _ in range(RUNS):
        began = time.process_time()
        work()
        seconds.append(time.process_time() - began)
    return statistics.median(seconds) / RECORDS * 1e6


def format_table(costs: list[FormatCost]) -> str:
    """The costs as a table."""
    lines = ["| format | bytes | decoding, µs per record | encoding, µs per record |", "|---|--:|--:|--:|"]
    for each in costs:
        encoded = "" if each.encode_us is None else f"{each.encode_us:.2f}"
        lines.append(f"| {each.name} | {each.message_bytes:.0f} | {each.decode_us:.2f} | {encoded} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(format_table(format_costs()))
