"""Sets of transactions by their global numbers (GTIDs), as users, MariaDB and MySQL write them."""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field

from funke.engine.connectors.mysql_cdc.log_events import GTID, MARIADB_GTID, LogEvent
from funke.engine.errors import SourceError

__all__ = ["HEADS", "GtidSet", "gtid_of", "gtids_before"]

_PREVIOUS_GTIDS, _GTID_LIST = 35, 163
# The events at the head of a file that say what was before it.
HEADS = frozenset({_PREVIOUS_GTIDS, _GTID_LIST})
_OF_MARIADB = re.compile(r"(\d+)-(\d+)-(\d+)")
_OF_MYSQL = re.compile(r"([0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})((?::\d+(?:-\d+)?)+)")
_RANGE = re.compile(r":(\d+)(?:-(\d+))?")
_MOST = (1 << 28) - 1
_PLAIN_COUNT = 1 << 48

Ranges = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class GtidSet:
    """By domain (MariaDB) or by the id of a server (MySQL): ranges of numbers, whose ends belong to them.

    >>> some = GtidSet.from_text("0-1-100,1-1-5")
    >>> some.has("0", 100), some.has("1", 6), some.has("2", 1)
    (True, False, False)
    >>> GtidSet.from_text("3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5:11").has("3e11fa4771ca11e19e33c80aa9429562", 11)
    True
    """

    ranges: Mapping[str, Ranges] = field(default_factory=dict)

    @staticmethod
    def from_text(text: str) -> GtidSet:
        """Reads what the server shows; raises SourceError if it is neither MariaDB's nor MySQL's."""
        ranges: dict[str, Ranges] = {}
        for part in filter(None, (each.strip() for each in text.split(","))):
            mariadb, mysql = _OF_MARIADB.fullmatch(part), _OF_MYSQL.fullmatch(part)
            if mariadb is not None:
                ranges[mariadb[1]] = ((1, int(mariadb[3])),)
            elif mysql is not None:
                pairs = [(int(low), int(high or low)) for low, high in _RANGE.findall(mysql[2])]
                origin = mysql[1].replace("-", "").lower()
                ranges[origin] = (*ranges.get(origin, ()), *pairs)
            else:
                raise SourceError(f"'{part}' is not a set of GTIDs like '0-1-100' (MariaDB) or 'uuid:1-100' (MySQL)")
        return GtidSet(ranges)

    def has(self, origin: str, number: int) -> bool:
        """Whether a transaction belongs to it."""
        return any(low <= number <= high for low, high in self.ranges.get(origin, ()))

    def holds(self, other: GtidSet) -> bool:
        """Whether all transactions of another set belong to it."""
        return all(
            any(low <= first and last <= high for low, high in self._joined(origin))
            for origin, pairs in other.ranges.items()
            for first, last in pairs
        )

    def _joined(self, origin: str) -> list[tuple[int, int]]:
        joined: list[tuple[int, int]] = []
        for low, high in sorted(self.ranges.get(origin, ())):
            if joined and low <= joined[-1][1] + 1:
                joined[-1] = (joined[-1][0], max(high, joined[-1][1]))
            else:
                joined.append((low, high))
        return joined


def gtid_of(event: LogEvent) -> tuple[str, int] | None:
    """Which transaction begins with an event, if one does that has a number."""
    if event.kind == MARIADB_GTID:
        number, domain = struct.unpack_from("<QI", event.body)
        return str(domain), number
    if event.kind == GTID:
        return event.body[1:17].hex(), int.from_bytes(event.body[17:25], "little")
    return None


def gtids_before(event: LogEvent) -> GtidSet:
    """What the head of a file says was before it."""
    return _of_list(event.body) if event.kind == _GTID_LIST else _of_previous(event)


def _of_list(body: bytes) -> GtidSet:
    count = int.from_bytes(body[:4], "little") & _MOST
    last: dict[str, int] = {}
    for domain, _, number in struct.iter_unpack("<IIQ", body[4 : 4 + 16 * count]):
        # A domain may have been written to by several servers.
        last[str(domain)] = max(number, last.get(str(domain), 0))
    return GtidSet({domain: ((1, number),) for domain, number in last.items()})


def _of_previous(event: LogEvent) -> GtidSet:
    body, at = event.body, 8
    count = int.from_bytes(body[:8], "little")
    if count >= _PLAIN_COUNT:
        raise SourceError(f"unsupported GTIDs with tags in the binary log at {event.start}")
    ranges: dict[str, Ranges] = {}
    for _ in range(count):
        origin, size = body[at : at + 16].hex(), int.from_bytes(body[at + 16 : at + 24], "little")
        pairs = struct.iter_unpack("<QQ", body[at + 24 : at + 24 + 16 * size])
        # The end of a range does not belong to it there.
        ranges[origin] = tuple((low, behind - 1) for low, behind in pairs)
        at += 24 + 16 * size
    return GtidSet(ranges)
