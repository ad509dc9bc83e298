"""The file format of snapshots: what is written comes back, and damage is found and named."""

from __future__ import annotations

import base64
import io
import random
from typing import Any

import pytest

from funke.engine.errors import StateError
from funke.engine.operators.windowing.windows import TimeWindow
from funke.engine.state.operator_state import OperatorStateSnapshot
from funke.engine.state.snapshot.file_format import GroupPart, SnapshotReader, SnapshotWriter, TableId, empty_part
from funke.engine.state.storage_keys import KeyStandIn

COUNT = TableId("count", None, False, "value")
WINDOW = TableId("window-contents", TimeWindow(0, 10), False, "list")


def part_of(tables: dict[TableId, dict[Any, Any]]) -> GroupPart:
    return GroupPart(tables, [(5, "a")], [(7, ("a", TimeWindow(0, 10)))])


def written(compress: bool = False) -> tuple[bytes, list[int]]:
    """A snapshot of two operators, and where its frames begin and end."""
    out = io.BytesIO()
    ends = [0]
    writer = SnapshotWriter(out, compress)
    ends.append(out.tell())
    writer.write_own("source", {"position": 42})
    ends.append(out.tell())
    for chunk in range(3):
        table = {f"key-{chunk}-{position}": position for position in range(50)}
        writer.write_keyed("count", 3, part_of({COUNT: table}))
        ends.append(out.tell())
    writer.write_keyed("count", 70, part_of({WINDOW: {KeyStandIn(1.0): [1, 2]}}))
    ends.append(out.tell())
    assert writer.finish() == out.tell()
    return out.getvalue(), ends


def read_all(data: bytes) -> dict[str, Any]:
    reader = SnapshotReader(io.BytesIO(data), "chk-1/state")
    reader.verify()
    return {each: (reader.own(each), list(reader.keyed(each, None))) for each in reader.operator_ids}


@pytest.mark.parametrize("compress", [False, True])
def test_what_is_written_comes_back(compress: bool) -> None:
    data, _ = written(compress)
    reader = SnapshotReader(io.BytesIO(data), "state")
    assert reader.operator_ids == ("source", "count")
    assert reader.own("source") == {"position": 42}
    assert reader.own("count") is None
    assert reader.key_groups("count") == (3, 70)
    assert reader.key_groups("source") == () == reader.key_groups("unknown")
    chunks = list(reader.keyed("count", {3}))
    assert [group for group, _ in chunks] == [3, 3, 3]
    assert chunks[1][1].tables[COUNT]["key-1-49"] == 49
    [(group, part)] = reader.keyed("count", range(64, 128))
    assert group == 70
    assert part == part_of({WINDOW: {KeyStandIn(1.0): [1, 2]}})
    assert next(iter(part.tables)).kind == "list"


def test_compression_makes_the_file_smaller() -> None:
    assert len(written(True)[0]) < len(written(False)[0]) * 0.7


def test_a_snapshot_without_state_is_a_snapshot() -> None:
    out = io.BytesIO()
    size = SnapshotWriter(out).finish()
    assert size == len(out.getvalue())
    assert SnapshotReader(io.BytesIO(out.getvalue()), "empty").operator_ids == ()


def test_an_empty_part_comes_back() -> None:
    out = io.BytesIO()
    writer = SnapshotWriter(out)
    writer.write_keyed("op", 0, empty_part())
    writer.finish()
    assert list(SnapshotReader(out, "x").keyed("op")) == [(0, empty_part())]


@pytest.mark.parametrize("compress", [False, True])
def test_truncation_is_found_wherever_the_file_ends(compress: bool) -> None:
    data, ends = written(compress)
    near_frames = {end + step for end in ends for step in (-1, 0, 1)}
    cuts = sorted({cut for cut in near_frames | set(range(0, len(data), 97)) | {len(data) - 1} if 0 <= cut < len(data)})
    for cut in cuts:
        with pytest.raises(StateError, match=r"'chk-1/state'.*(truncated|damaged)"):
            read_all(data[:cut])


@pytest.mark.parametrize("compress", [False, True])
def test_a_flipped_bit_is_found_wherever_it_is(compress: bool) -> None:
    data, ends = written(compress)
    chosen = random.Random(4)
    heads = [end * 8 + bit for end in ends for bit in range(26 * 8)]
    for position in [*heads, *(chosen.randrange(len(data) * 8) for _ in range(1000))]:
        damaged = bytearray(data)
        damaged[position // 8] ^= 1 << position % 8
        with pytest.raises(StateError, match="'chk-1/state'"):
            read_all(bytes(damaged))


def test_only_the_frames_that_are_read_must_be_good() -> None:
    data, ends = written()
    damaged = bytearray(data)
    damaged[ends[2] + 60] ^= 1
    reader = SnapshotReader(io.BytesIO(bytes(damaged)), "state")
    assert reader.own("source") == {"position": 42}
    with pytest.raises(StateError, match=f"damaged: the checksum of the frame at byte {ends[2]}"):
        list(reader.keyed("count", {3}))
    assert len(list(reader.keyed("count", {70}))) == 1


@pytest.mark.parametrize("data", [b"PK\x03\x04 something else altogether" * 9, b"\x80\x05", b"garbage"])
def test_other_files_are_no_snapshots(data: bytes) -> None:
    with pytest.raises(StateError, match="'x' is not a snapshot"):
        SnapshotReader(io.BytesIO(data), "x")


def test_an_empty_file_is_truncated() -> None:
    with pytest.raises(StateError, match="'x' is truncated"):
        SnapshotReader(io.BytesIO(b""), "x")


def test_a_file_of_a_later_format_is_rejected() -> None:
    data = bytearray(written()[0])
    data[8] = 9
    with pytest.raises(StateError, match=r"has format 9.0, and this version of Funke reads 1.0"):
        SnapshotReader(io.BytesIO(bytes(data)), "x")


class Gone:
    """A class that a later version of the program does not have."""


def test_state_of_a_class_that_is_gone_names_the_operator() -> None:
    out = io.BytesIO()
    writer = SnapshotWriter(out)
    Gone.__module__ = "was_here"
    import sys
    import types

    module = types.ModuleType("was_here")
    module.Gone = Gone  # type: ignore[attr-defined]
    sys.modules["was_here"] = module
    writer.write_own("parse", Gone())
    writer.finish()
    del sys.modules["was_here"]
    with pytest.raises(StateError, match="state of operator 'parse' in snapshot 'x' cannot be loaded: No module"):
        SnapshotReader(out, "x").own("parse")


def test_state_that_cannot_be_pickled_is_reported() -> None:
    import threading

    with pytest.raises(StateError, match="cannot be serialised"):
        SnapshotWriter(io.BytesIO()).write_own("op", threading.Lock())


# Written when all of `engine.state` was one folder: own state of one operator, a window's state under a float key.
OLD_SNAPSHOT = base64.b85decode(
    b"MpaHrMN>{t0RR910RaF2000000058x00000002ajjlOsREsU`a!Y~X(DWweTd;nWn@*^D>IwRzQ3lSlyVrN8x-5X}+R|%yzo$sCRQN2I2zhu)V"
    b"e?^1-Y&{xcU^HRC2pr;JJXO}aDQJJV^)S#Su)cKr)VtPFIZI60%EDpKy4SiXnmLjzlefW-s08OSkpdJ*R$UBmI>Pi<#pH0T<*l1#ZAzllnJ+L5"
    b"LIeT<0RR911poj5m;e9(00000I2Z2mcmZo*ow|Yn0%E6V^f2a4>Cs3l&C5>JOU+Bq%uChFFGwv)EXgk_)+^7<OUVZk=}=bjlpd~-%-qy)u=te8"
    b"Q@k0xx!R@#P3i1mElbQPO`TFQrFKe>Jc@C}C5a`edc{Bk6Vp@Uvr{WUrg*1T2A3q}rFiB6O>wvX0C7(%&?s;A;<hP?u~WP`Gx)%a_9=P*Gvz~X"
    b"0{{R300000002Dz00000004ZNb?|@%l`;ST0000009}+Qj0SUWb#h~6l#B&qZ*^{Tlx1C%C@4z-O8`p%OAK_BC`$rM0ZRo-vUHSXhLkQ~0RR91"
    b"0001HbiNZtRZdGqMNUK"
)


def test_classes_that_snapshots_name_are_found_where_they_were() -> None:
    reader = SnapshotReader(io.BytesIO(OLD_SNAPSHOT), "savepoint-1/state")
    assert reader.own("source") == OperatorStateSnapshot({"left": [1, 2]}, {"all": ["a"]}, {"rules": {"limit": 3}})
    [(group, part)] = reader.keyed("count")
    assert (group, part.event_timers) == (5, [(9, KeyStandIn(1.0))])
    assert part.tables == {TableId("n", TimeWindow(0, 10), False, "value"): {KeyStandIn(1.0): 7}}
