"""Which bucket, that is which directory below the base path, a record belongs to."""

from __future__ import annotations

import datetime
from abc import ABC, abstractmethod
from dataclasses import dataclass
from itertools import repeat
from typing import Any

from funke.engine.connectors.file_sink.date_pattern import compile_date_pattern, find_zone

__all__ = ["BasePathBucketAssigner", "BucketAssigner", "BucketContext", "DateTimeBucketAssigner"]

DEFAULT_DATE_PATTERN = "yyyy-MM-dd--HH"


class BucketContext:
    """What a bucket assigner may know besides the record."""

    __slots__ = ("_now_ms", "_timestamp")

    def __init__(self, now_ms: int) -> None:
        self._now_ms = now_ms
        self._timestamp: int | None = None

    def current_processing_time(self) -> int:
        """The processing time in milliseconds."""
        return self._now_ms

    def timestamp(self) -> int | None:
        """The event time of the record in milliseconds, None when it has none."""
        return self._timestamp


class BucketAssigner(ABC):
    """Names the bucket of each record; users may write their own."""

    @abstractmethod
    def get_bucket_id(self, element: Any, context: BucketContext) -> str:
        """The path of the bucket below the base path; empty for the base path itself."""

    def assign(self, values: list[Any], timestamps: list[int] | None, now_ms: int) -> dict[str, list[Any]]:
        """Sorts a batch into buckets, keeping the order within each."""
        context = BucketContext(now_ms)
        buckets: dict[str, list[Any]] = {}
        for value, timestamp in zip(values, timestamps or repeat(None), strict=False):
            context._timestamp = timestamp
            buckets.setdefault(self.get_bucket_id(value, context), []).append(value)
        return buckets


@dataclass(frozen=True)
class BasePathBucketAssigner(BucketAssigner):
    """Writes everything into the base path."""

    def get_bucket_id(self, element: Any, context: BucketContext) -> str:
        """The base path."""
        return ""

    def assign(self, values: list[Any], timestamps: list[int] | None, now_ms: int) -> dict[str, list[Any]]:
        """The whole batch goes to one bucket."""
        return {"": values}


@dataclass(frozen=True)
class DateTimeBucketAssigner(BucketAssigner):
    """Names buckets after the processing time, by default one for every hour."""

    pattern: str = DEFAULT_DATE_PATTERN
    zone_id: str | None = None

    def __post_init__(self) -> None:
        """Rejects a pattern or zone that does not exist, where it is written."""
        compile_date_pattern(self.pattern)
        find_zone(self.zone_id)

    def get_bucket_id(self, element: Any, context: BucketContext) -> str:
        """The formatted time."""
        return self._bucket_at(context.current_processing_time())

    def assign(self, values: list[Any], timestamps: list[int] | None, now_ms: int) -> dict[str, list[Any]]:
        """All records of a batch are written at the same time, so they share a bucket."""
        return {self._bucket_at(now_ms): values}

    def _bucket_at(self, now_ms: int) -> str:
        timestamp = datetime.datetime.fromtimestamp(now_ms / 1000, datetime.UTC)
        return compile_date_pattern(self.pattern)(timestamp.astimezone(find_zone(self.zone_id)))
