"""Sets of GTIDs, and the events that tell them."""

from __future__ import annotations

import struct

import pytest

from funke.engine.connectors.mysql_cdc.gtids import GtidSet, gtid_of, gtids_before
from funke.engine.connectors.mysql_cdc.log_events import LogEvent
from funke.engine.errors import SourceError

UUID = "3e11fa47-71ca-11e1-9e33-c80aa9429562"
ORIGIN = UUID.replace("-", "")


def event(kind, body):
    return LogEvent(kind, 0, "log.000001", 4, 4 + len(body), body)


def test_sets_as_servers_show_them():
    assert GtidSet.from_text("0-1-100,\n2-7-5").ranges == {"0": ((1, 100),), "2": ((1, 5),)}
    assert GtidSet.from_text(f"{UUID.upper()}:1-5:7,{UUID}:9").ranges == {ORIGIN: ((1, 5), (7, 7), (9, 9))}
    assert GtidSet.from_text("").ranges == {}
    with pytest.raises(SourceError, match="'0-1' is not a set of GTIDs"):
        GtidSet.from_text("0-1")


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("0-1-100", "0-2-99", True),
        ("0-1-100", "0-1-101", False),
        ("0-1-100", "1-1-1", False),
        ("0-1-100", "", True),
        (f"{UUID}:1-5:6-9", f"{UUID}:2-8", True),
        (f"{UUID}:1-5:7-9", f"{UUID}:2-8", False),
    ],
)
def test_a_set_holds_another(one, other, expected):
    assert GtidSet.from_text(one).holds(GtidSet.from_text(other)) is expected


def test_what_events_tell():
    assert gtid_of(event(162, struct.pack("<QIB", 77, 3, 0) + bytes(6))) == ("3", 77)
    assert gtid_of(event(33, b"\x01" + bytes.fromhex(ORIGIN) + struct.pack("<Q", 12) + bytes(17))) == (ORIGIN, 12)
    assert gtid_of(event(2, b"")) is None
    listed = struct.pack("<I", 3 | 1 << 28) + b"".join(
        struct.pack("<IIQ", *each) for each in ((0, 1, 9), (0, 2, 11), (4, 1, 2))
    )
    assert gtids_before(event(163, listed)) == GtidSet.from_text("0-2-11,4-1-2")
    previous = struct.pack("<Q", 1) + bytes.fromhex(ORIGIN) + struct.pack("<QQQQQ", 2, 1, 6, 8, 9)
    assert gtids_before(event(35, previous)) == GtidSet.from_text(f"{UUID}:1-5:8")
    with pytest.raises(SourceError, match="GTIDs with tags"):
        gtids_before(event(35, struct.pack("<Q", 1 << 56)))
