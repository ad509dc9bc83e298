"""The rule for complete partitions: a delay after the partition's own time, or after its first row."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import unquote

from funke.engine.flink_exceptions import TableException
from funke.engine.sql.functions.dates.time_strings import parse_formatted, parse_timestamp

__all__ = ["CompletePartition", "PartitionCommits", "PendingPartitions"]


@dataclass(frozen=True)
class CompletePartition:
    """The folder of a complete partition; it is sent to the committer behind the partition's files."""

    folder: str


@dataclass(frozen=True)
class PendingPartitions:
    """Folders that are not reported yet, each with the time when it was begun; part of a writer's state."""

    begun_ms: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class PartitionCommits:
    """The rule of a table."""

    # By the watermark, else by the clock.
    is_by_event_time: bool
    delay_ms: int = 0
    # The time of a partition as a string of its values: '$day $hour:00:00'; by default the first value.
    pattern: str | None = None
    # How that text is written, as Java's DateTimeFormatter says; yyyy-MM-dd [HH:mm:ss] by default.
    formatter: str | None = None
    zone: datetime.tzinfo = datetime.UTC

    def is_complete(self, folder: str, begun_ms: int, now_ms: int, watermark: int) -> bool:
        """Whether a partition is complete."""
        # The time of a partition is its start: `hour=07` is complete at 8 with a delay of 1 h, and too early without
        # one.
        if self.is_by_event_time:
            return watermark > self.time_ms(folder) + self.delay_ms
        return now_ms > begun_ms + self.delay_ms

    def time_ms(self, folder: str) -> int:
        text = self._time_text(_values_of(folder))
        timestamp = parse_timestamp(text) if self.formatter is None else parse_formatted(text, self.formatter)
        if timestamp is None:
            raise TableException(f"the partition '{folder}' has no time: '{text}' could not be parsed")
        return round(timestamp.replace(tzinfo=self.zone).timestamp() * 1000)

    def _time_text(self, values: Mapping[str, str]) -> str:
        if self.pattern is None:
            return next(iter(values.values()), "")
        text = self.pattern
        for name, value in values.items():
            text = text.replace(f"${name}", value)
        return text


def _values_of(folder: str) -> dict[str, str]:
    parts = (each.partition("=") for each in folder.split("/"))
    return {unquote(name): unquote(value) for name, _, value in parts}
