"""Blocks of events give the rows that a look at each event gives, however they are cut and whichever their version."""

from __future__ import annotations

import struct

from hypothesis import given, settings
from hypothesis import strategies as st

from funke.engine.connectors.change_capture.parts import Chunk, FinishedChunk
from funke.engine.connectors.change_capture.seam import Seam
from funke.engine.connectors.jdbc.mysql_database import MySqlDatabase
from funke.engine.connectors.mysql_cdc.change_rows import ChangeRows
from funke.engine.connectors.mysql_cdc.json_text import json_text
from funke.engine.connectors.mysql_cdc.log_events import LogEvent
from funke.engine.connectors.mysql_cdc.log_position import LogPosition
from funke.engine.connectors.mysql_cdc.settings import MySqlCdcSettings, MySqlColumn, MySqlTable
from funke.engine.types.logical.data_types import DataTypes
from funke.engine.types.logical.row_type import RowField

FIELDS = (RowField("id", DataTypes.BIGINT()), RowField("name", DataTypes.STRING()))
ID, NAME = MySqlColumn("id", "int"), MySqlColumn("name", "varchar", charset="utf8mb4")
TABLES = (
    MySqlTable("d", "a", ("id",), (ID, NAME), "id"),
    MySqlTable("d", "b", ("id",), (NAME, MySqlColumn("more", "tinyint"), ID), "id"),
)
TYPES = {"id": b"\x03", "name": b"\x0f", "more": b"\x01"}
KINDS = {"I": (23, 30), "U": (24, 31), "D": (25, 32)}


def event(kind, body, start=0, time_s=0):
    return LogEvent(kind, time_s, "l.1", start, start + 1, body)


def described(number, table):
    types = b"".join(TYPES[each.name] for each in table.columns)
    names = struct.pack("<B", len(table.database)) + table.database.encode() + b"\0"
    names += struct.pack("<B", len(table.name)) + table.name.encode() + b"\0"
    count = len(table.columns)
    body = struct.pack("<IHH", number, 0, 1) + names + bytes([count]) + types
    return event(19, body + b"\x02" + struct.pack("<H", 400) + b"\xff")


def packed(table, row):
    values = {"id": row[0], "name": row[1], "more": None}
    nulls, content = 0, b""
    for index, column in enumerate(table.columns):
        value = values[column.name]
        if value is None:
            nulls |= 1 << index
        elif column.name == "id":
            content += struct.pack("<i", value)
        else:
            content += struct.pack("<H", len(value.encode())) + value.encode()
    return bytes([nulls]) + content


def changed(kind, number, table, images, is_second, start, time_s):
    count = len(table.columns)
    head = struct.pack("<IHH", number, 0, 1) + (struct.pack("<H", 4) + b"xx" if is_second else b"")
    head += bytes([count]) + bytes([0xFF]) * (2 if kind == "U" else 1)
    body = head + b"".join(packed(table, row) for row in images)
    return event(KINDS[kind][is_second], body, start, time_s)


class Asked:
    """A server that need not be asked."""

    def columns(self, table):
        raise AssertionError("nothing has changed")

    def names_are_logged(self):
        raise AssertionError("nothing has changed")

    def chunks(self, table, lows, keys):
        raise AssertionError("keys are whole numbers")


strings = st.one_of(st.none(), st.text(max_size=5))
row = st.tuples(st.integers(-9, 9), strings)
one_event = st.tuples(st.sampled_from("IUD"), st.booleans(), st.booleans(), st.lists(st.tuples(row, row), max_size=5))
transactions = st.lists(st.tuples(st.integers(1, 40), st.lists(one_event, max_size=4)), max_size=6)


def expected_of(kind, table, rows, visible):
    """What the rows of an event give, looked at one by one."""
    for before, behind in rows:
        images = {"I": [("+I", behind)], "D": [("-D", before)], "U": [("-U", before), ("+U", behind)]}[kind]
        kept = [(sign, each) for sign, each in images if not visible(each[0])]
        if len(images) == 2 and len(kept) == 1:
            kept = [({"-U": "-D", "+U": "+I"}[kept[0][0]], kept[0][1])]
        yield from ((sign, *each, table.name) for sign, each in kept)


@settings(max_examples=60)
@given(transactions, st.booleans(), st.integers(1, 9))
def test_rows_of_blocks(environment, has_seam, cut):
    # The first part of one table was read at the position 20, the rest at 30; the other is new.
    chunks = [
        FinishedChunk(Chunk(TABLES[0], 5, None, 1), "l.1:30"),
        FinishedChunk(Chunk(TABLES[0], None, 5, 0), "l.1:20"),
    ]
    metadata = (("table_name", "t"),)
    rows = ChangeRows(
        MySqlCdcSettings(MySqlDatabase(), "d", ".*", FIELDS, 1, metadata=metadata, start_time_ms=5000), TABLES, Asked()
    )
    rows.meet(Seam(chunks, LogPosition.from_text) if has_seam else None)
    expected, batches, count = [], [], 0
    for index, events in environment:
        for kind, is_b, is_second, row in events:
            table, number = TABLES[is_b], 7 + is_b
            rows.relate(described(number, table))

            def visible(key, index=index, is_b=is_b):
                return has_seam and not is_b and index < (30 if key >= 5 else 20)

            images = [each for pair in row for each in {"I": pair[1:], "D": pair[:1], "U": pair}[kind]]
            time_s = 4 if index == 7 else 5  # one transaction is older than wanted
            rows.add(changed(kind, number, table, images, is_second, index, time_s), LogPosition("l.1", index))
            if index != 7:
                expected += expected_of(kind, table, row, visible)
            count += 1
            if count % cut == 0:
                batches.append(rows.take())
    batches.append(rows.take())
    signs = ["+I", "-U", "+U", "-D"]
    actual = []
    for batch in filter(None, batches):
        actual += [(signs[kind], *each.values()) for kind, each in zip(batch.kinds.tolist(), batch.data.to_pylist())]
    assert actual == expected


def test_a_record_is_full_by_what_it_holds_alone(monkeypatch):
    monkeypatch.setattr(ChangeRows, "max_bytes", 60)
    rows = ChangeRows(MySqlCdcSettings(MySqlDatabase(), "d", ".*", FIELDS, 1), TABLES, Asked())
    rows.relate(described(7, TABLES[0]))
    results, expected, size = [], [], 0
    for number in range(20):
        changes_of_row = changed("I", 7, TABLES[0], [(number, "x" * number)], False, number, 0)
        rows.add(changes_of_row, changes_of_row.start)
        # One of another table, which does not count.
        rows.add(changed("I", 99, TABLES[1], [(number, "x")], False, number, 0), changes_of_row.start)
        size += len(changes_of_row.body)
        expected += [number] if size >= 60 else []
        size = 0 if size >= 60 else size
        if rows.is_full:
            results.append(rows.take().data.column(0)[-1].as_py())
    assert results == expected and len(results) > 5


def test_json_as_mysql_stores_it():
    # {"a": 1, "b": [true, null, "ü", -1.5]} by the description of the format.
    array = b"\x04\x00\x1d\x00" + b"\x04\x01\x00\x04\x00\x00" + b"\x0c\x10\x00" + b"\x0b\x13\x00"
    array += "ü".encode().join([b"\x02", b""]) + struct.pack("<d", -1.5)
    assert json_text(b"\x02" + array) == '[true, null, "ü", -1.5]'
    whole = b"\x02\x00" + struct.pack("<H", 20 + len(array)) + b"\x12\x00\x01\x00\x13\x00\x01\x00"
    whole += b"\x05\x01\x00" + b"\x02\x14\x00" + b"ab" + array
    assert json_text(b"\x00" + whole) == '{"a": 1, "b": [true, null, "ü", -1.5]}'
    assert json_text(b"\x0f\xf6\x04\x04\x02\x8c\x22") == "12.34"
    at = (((2015 * 13 + 1) << 5 | 15) << 17 | (23 << 12 | 24 << 6 | 25)) << 24
    assert json_text(b"\x0f\x0c\x08" + struct.pack("<q", at)) == '"2015-01-15 23:24:25.000000"'
    assert json_text(b"") == "null"
