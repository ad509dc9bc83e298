"""Blocks of changes give the rows that a look at each message gives, however they are cut."""

from __future__ import annotations

import struct

from hypothesis import given, settings
from hypothesis import strategies as st

from funke.engine.connectors.change_capture.seam import Seam
from funke.engine.connectors.jdbc.database import PostgresDatabase
from funke.engine.connectors.postgres_cdc.change_rows import ChangeRows
from funke.engine.connectors.postgres_cdc.pgoutput import Begin, LogRelation
from funke.engine.connectors.postgres_cdc.settings import Chunk, FinishedChunk, PostgresCdcSettings, SourceTable
from funke.engine.connectors.postgres_cdc.visibility import Visibility
from funke.engine.types.logical.data_types import DataTypes
from funke.engine.types.logical.row_type import RowField

FIELDS = (RowField("id", DataTypes.BIGINT()), RowField("name", DataTypes.STRING()))
TABLES = (SourceTable("s", "a", ("id",), "id"), SourceTable("s", "b", ("id",), "id"))
RELATIONS = (
    LogRelation(7, "s", "a", "f", ("id", "name")),
    LogRelation(8, "s", "b", "f", ("more", "name", "id")),
    LogRelation(9, "s", "other", "f", ("id",)),
)
UNCHANGED = "unchanged"
KINDS = {"I": 0, "U": 2, "D": 3}


def row_of(relation, key, name):
    values = {"id": str(key), "name": name, "more": None}
    return [values[column] for column in relation.columns]


def message(kind, relation, old, new, mark=b"O"):
    content = struct.pack(">cI", kind.encode(), relation.id)
    content += b"" if old is None else mark + packed(old)
    content += b"" if new is None else b"N" + packed(new)
    return memoryview(b"w" + bytes(24) + content)


def packed(values):
    cells = [struct.pack(">H", len(values))]
    for value in values:
        if value is None or value is UNCHANGED:
            cells.append(b"n" if value is None else b"u")
        else:
            data = value.encode()
            cells.append(b"t" + struct.pack(">I", len(data)) + data)
    return b"".join(cells)


class Asked:
    """A database whose rows all have the same name now."""

    def values(self, table, columns, key):
        return [f"now {key[0]}"] * len(columns)

    def chunks(self, table, lows, keys):
        raise AssertionError("keys are whole numbers")


names = st.one_of(st.none(), st.text(max_size=5).filter(lambda text: "\0" not in text))
change = st.tuples(
    st.sampled_from("IUD"),
    st.sampled_from(RELATIONS),
    st.integers(0, 9),
    st.integers(0, 9),
    names,
    names,
    st.booleans(),
)
transactions = st.lists(st.tuples(st.integers(1, 40), st.lists(change, max_size=6)), max_size=6)


def expected_of(actual, is_upsert, visible):
    """What one change gives, looked at by itself."""
    kind, relation, key, other, name, old_name, is_unchanged = actual
    if relation.id == 9:
        return []
    old, new = (key, old_name), (other, old_name if is_unchanged else name)
    if kind == "I":
        images = [(0, (other, name))]
    elif kind == "D":
        images = [(3, old)]
    elif is_upsert:
        images = [(3, old)] * (key != other) + [(2, new)]
    else:
        images = [(1, old), (2, new)]
    kept = [(sign, row) for sign, row in images if not visible(relation, row[0])]
    if not is_upsert and len(images) == 2 and len(kept) == 1:
        kept = [({1: 3, 2: 0}[kept[0][0]], kept[0][1])]
    return [(sign, *row, relation.name) for sign, row in kept]


@settings(max_examples=50)
@given(transactions, st.booleans(), st.booleans(), st.integers(1, 9))
def test_rows_of_blocks(environment, is_upsert, has_seam, cut):
    # The first part of one table was read when transactions up to 20 were over, the rest up to 30; the other is new.
    chunks = [
        FinishedChunk(Chunk(TABLES[0], 5, None, 1), "30:30:"),
        FinishedChunk(Chunk(TABLES[0], None, 5, 0), "20:20:"),
    ]
    database = PostgresDatabase({"dbname": "d"})
    metadata = (("table_name", "t"),)
    rows = ChangeRows(
        PostgresCdcSettings(database, "s", ".*", FIELDS, "s", is_upsert=is_upsert, metadata=metadata), TABLES, Asked()
    )
    rows.meet(Seam(chunks, Visibility.from_text) if has_seam else None)
    for each in RELATIONS:
        rows.relate(each)
    expected, batches, count = [], [], 0
    for number, changes in environment:
        rows.begin(Begin(0, 0, number))

        def visible(relation, key, number=number):
            return has_seam and relation.id == 7 and number < (30 if key >= 5 else 20)

        for change in changes:
            kind, relation, key, other, name, old_name, is_unchanged = change
            old = row_of(relation, key, old_name) if kind != "I" else None
            hidden = is_unchanged and kind == "U" and old_name is not None
            new = row_of(relation, other, UNCHANGED if hidden else name) if kind != "D" else None
            rows.add([message(kind, relation, old, new)])
            expected += expected_of((*change[:6], hidden), is_upsert, visible)
            count += 1
            if count % cut == 0:
                batches.append(rows.take())
    batches.append(rows.take())
    actual = []
    for batch in filter(None, batches):
        kinds = [0] * len(batch) if batch.kinds is None else batch.kinds.tolist()
        actual += [(kind, *row.values()) for kind, row in zip(kinds, batch.data.to_pylist())]
    assert actual == expected


def test_values_that_the_log_does_not_hold_are_asked_for():
    created = PostgresCdcSettings(PostgresDatabase({}), "s", ".*", FIELDS, "s", is_upsert=True)
    rows = ChangeRows(created, TABLES, Asked())
    rows.relate(RELATIONS[0])
    rows.begin(Begin(0, 0, 1))
    rows.add([message("U", RELATIONS[0], None, ["4", UNCHANGED])])
    rows.add([message("U", RELATIONS[0], ["4", None], ["5", UNCHANGED], b"K")])
    result = rows.take()
    assert result.kinds.tolist() == [2, 3, 2]
    assert [tuple(row.values()) for row in result.data.to_pylist()] == [(4, "now 4"), (4, None), (5, "now 5")]


def test_a_record_is_full_at_the_same_message_however_messages_come(monkeypatch):
    monkeypatch.setattr(ChangeRows, "max_changes", 4)
    monkeypatch.setattr(ChangeRows, "max_bytes", 300)
    messages = [message("I", RELATIONS[0], None, [str(number), "x" * (number * 37 % 200)]) for number in range(40)]
    cuts = []
    for step in (1, 3, 40):
        rows = ChangeRows(PostgresCdcSettings(PostgresDatabase({}), "s", ".*", FIELDS, "s"), TABLES, Asked())
        rows.relate(RELATIONS[0])
        rows.begin(Begin(0, 0, 1))
        results, at = [], 0
        while at < len(messages):
            at += rows.add(messages[at : at + step])
            if rows.is_full:
                results.append(len(rows.take()))
        cuts.append(results)
    assert cuts[0] == cuts[1] == cuts[2]
    assert sum(cuts[0]) > 30 and max(cuts[0]) == 4 and min(cuts[0]) < 4


def test_a_table_that_gets_another_column_in_the_middle():
    created = PostgresCdcSettings(PostgresDatabase({}), "s", ".*", FIELDS, "s")
    rows = ChangeRows(created, TABLES, Asked())
    rows.relate(RELATIONS[0])
    rows.begin(Begin(0, 0, 1))
    rows.add([message("I", RELATIONS[0], None, ["1", "a"])])
    rows.relate(LogRelation(7, "s", "a", "f", ("new", "id", "name")))
    rows.add([message("I", RELATIONS[0], None, ["x", "2", "b"])])
    assert [tuple(row.values()) for row in rows.take().data.to_pylist()] == [(1, "a"), (2, "b")]
    assert rows.take() is None
