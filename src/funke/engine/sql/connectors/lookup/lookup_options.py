"""The options of tables for lookups and their caches."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from funke.engine.flink_exceptions import ValidationException
from funke.engine.sql.connectors.lookup.lookup import KeyedTable, Lookup
from funke.engine.sql.connectors.lookup.reload_times import ReloadTimes
from funke.engine.sql.connectors.table_option import OptionValues, TableOption

if TYPE_CHECKING:
    from funke.engine.operators.time.clock import Clock
    from funke.engine.sql.connectors.lookup.caches import PartialCacheSettings

__all__ = ["CACHE_TTL", "LOOKUP_ASYNC", "LOOKUP_OPTIONS", "MAX_RETRIES", "LookupSettings"]

_CACHE = TableOption(
    "lookup.cache",
    "Enum",
    "NONE",
    "What lookup joins remember: nothing, the keys that were asked for, or the whole table.",
    ("NONE", "PARTIAL", "FULL"),
)
LOOKUP_ASYNC = TableOption(
    "lookup.async",
    "Boolean",
    "false",
    "Whether threads ask for the keys of a batch while the next ones come; a hint LOOKUP may say otherwise.",
)
CACHE_TTL = TableOption(
    "lookup.join.cache.ttl",
    "Duration",
    "60 min",
    "Lookup joins hold the whole table in memory, and read it again when it is so old.",
)
MAX_RETRIES = TableOption("lookup.max-retries", "Integer", "3", "How often a query that failed is tried again.")
_MAX_ROWS = TableOption(
    "lookup.partial-cache.max-rows",
    "Long",
    None,
    "The number of cached keys; the least recently used ones are evicted.",
    older_keys=("lookup.cache.max-rows",),
)
_AFTER_WRITE = TableOption(
    "lookup.partial-cache.expire-after-write",
    "Duration",
    None,
    "How long after it was read a key is remembered.",
    older_keys=("lookup.cache.ttl",),
)
_AFTER_ACCESS = TableOption(
    "lookup.partial-cache.expire-after-access",
    "Duration",
    None,
    "How long after it was last asked for a key is remembered.",
)
_MISSING = TableOption(
    "lookup.partial-cache.cache-missing-key",
    "Boolean",
    "true",
    "Remembers, too, that a key has no rows.",
    older_keys=("lookup.partial-cache.caching-missing-key", "lookup.cache.caching-missing-key"),
)
_STRATEGY = TableOption(
    "lookup.full-cache.reload-strategy",
    "Enum",
    "PERIODIC",
    "When the whole table is read again: every so often, or at a time of day.",
    ("PERIODIC", "TIMED"),
)
_INTERVAL = TableOption("lookup.full-cache.periodic-reload.interval", "Duration", None, "How often, with PERIODIC.")
_MODE = TableOption(
    "lookup.full-cache.periodic-reload.schedule-mode",
    "Enum",
    "FIXED_DELAY",
    "Counts from the end or from the start of the last reading.",
    ("FIXED_DELAY", "FIXED_RATE"),
)
_TIME = TableOption(
    "lookup.full-cache.timed-reload.iso-time", description="The time of day with TIMED: 10:15 or 10:15Z or 10:15+07:00."
)
_DAYS = TableOption("lookup.full-cache.timed-reload.interval-in-days", "Integer", "1", "Every so many days.")

LOOKUP_OPTIONS = (
    LOOKUP_ASYNC,
    _CACHE,
    MAX_RETRIES,
    _MAX_ROWS,
    _AFTER_WRITE,
    _AFTER_ACCESS,
    _MISSING,
    _STRATEGY,
    _INTERVAL,
    _MODE,
    _TIME,
    _DAYS,
)


@dataclass(frozen=True)
class LookupSettings:
    """The settings of lookups: a partial cache, a full one (`reload`), or none."""

    max_retries: int = 3
    partial: PartialCacheSettings | None = None
    reload: ReloadTimes | None = None
    is_async: bool = False

    @staticmethod
    def of(values: OptionValues) -> LookupSettings:
        """The settings from the options of a table."""
        from funke.engine.sql.connectors.lookup.caches import PartialCacheSettings

        retries = values[MAX_RETRIES]
        if retries < 0:
            raise ValidationException(
                f"The value of '{MAX_RETRIES.key}' option shouldn't be negative, but is {retries}."
            )
        kind = values[_CACHE]
        # Flink before 1.16 had a cache as soon as its size was given.
        if kind == "PARTIAL" or (_CACHE not in values and "lookup.cache.max-rows" in values.strings):
            settings = PartialCacheSettings(
                values[_MAX_ROWS],
                _milliseconds(values[_AFTER_WRITE]),
                _milliseconds(values[_AFTER_ACCESS]),
                values[_MISSING],
            )
            return LookupSettings(retries, settings, is_async=values[LOOKUP_ASYNC])
        reload = _reload_times(values) if kind == "FULL" else None
        return LookupSettings(retries, reload=reload, is_async=values[LOOKUP_ASYNC])

    def lookup(self, table: KeyedTable, keys: Sequence[int], clock: Clock) -> Lookup:
        """Puts the cache before a table."""
        from funke.engine.sql.connectors.lookup.caches import FullCache, NoCache, PartialCache

        if self.partial is not None:
            return PartialCache(table, keys, self.partial, clock)
        return NoCache(table, keys) if self.reload is None else FullCache(table, keys, self.reload, clock)


def _milliseconds(duration: Any) -> int | None:
    return None if duration is None else duration.to_millis()


def _reload_times(values: OptionValues) -> ReloadTimes:
    if values[_STRATEGY] == "PERIODIC":
        interval = _required(values, _INTERVAL, "PERIODIC").to_millis()
        return ReloadTimes(interval, values[_MODE] == "FIXED_RATE")
    text = _required(values, _TIME, "TIMED")
    try:
        time = datetime.time.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError as error:
        raise ValidationException(
            f"Could not parse value '{text}' for key '{_TIME.key}'.\nCaused by: {error}"
        ) from None
    if values[_DAYS] < 1:
        raise ValidationException(f"The value of '{_DAYS.key}' must be at least 1, but is {values[_DAYS]}.")
    return ReloadTimes(time_of_day=time, days=values[_DAYS])


def _required(values: OptionValues, option: TableOption, strategy: str) -> Any:
    value = values[option]
    if value is None:
        raise ValidationException(f"Missing '{option.key}' in FULL lookup cache with the reload strategy {strategy}.")
    return value
