"""Time to live of state: when entries expire, whether expired ones are seen, and when they are removed."""

from __future__ import annotations

from enum import Enum

from funke.engine.types.enum_members import require_member
from funke.engine.types.time import Duration, Time

__all__ = ["StateTtlConfig"]


class StateTtlConfig:
    """How long state of one descriptor lives.

    >>> from funke.common import Time
    >>> from funke.datastream.state import StateTtlConfig
    >>> config = StateTtlConfig.new_builder(Time.hours(1)).update_ttl_on_read_and_write().build()
    >>> config.get_update_type().name, config.ttl_ms  # for StateDescriptor.enable_time_to_live()
    ('OnReadAndWrite', 3600000)
    """

    class UpdateType(Enum):
        """Which accesses restart the clock of an entry."""

        Disabled = 0
        OnCreateAndWrite = 1
        OnReadAndWrite = 2

    class StateVisibility(Enum):
        """Whether an expired entry that is still stored may be read."""

        ReturnExpiredIfNotCleanedUp = 0
        NeverReturnExpired = 1

    class TtlTimeCharacteristic(Enum):
        """The clock that expiry follows."""

        ProcessingTime = 0

    class CleanupStrategies:
        """The ways in which expired entries are removed."""

        class Strategies(Enum):
            """The moments at which expired entries can be removed."""

            FULL_STATE_SCAN_SNAPSHOT = 0
            INCREMENTAL_CLEANUP = 1
            ROCKSDB_COMPACTION_FILTER = 2

        class CleanupStrategy:
            """The settings of one way to remove expired entries."""

        class EmptyCleanupStrategy(CleanupStrategy):
            """A way to remove expired entries that has no settings."""

        class IncrementalCleanupStrategy(CleanupStrategy):
            """Looks at a few entries at every state access."""

            def __init__(self, cleanup_size: int, run_cleanup_for_every_record: bool) -> None:
                self._cleanup_size = cleanup_size
                self._run_cleanup_for_every_record = run_cleanup_for_every_record

            def get_cleanup_size(self) -> int:
                """Return how many entries are looked at in one go."""
                return self._cleanup_size

            def run_cleanup_for_every_record(self) -> bool:
                """Tell whether records that do not touch the state run the clean-up as well."""
                return self._run_cleanup_for_every_record

        class RocksdbCompactFilterCleanupStrategy(CleanupStrategy):
            """Drops expired entries while RocksDB compacts its files."""

            def __init__(
                self, query_time_after_num_entries: int, periodic_compaction_time: Duration | None = None
            ) -> None:
                self._query_time_after_num_entries = query_time_after_num_entries
                self._periodic_compaction_time = periodic_compaction_time or Duration.of_days(30)

            def get_query_time_after_num_entries(self) -> int:
                """Return after how many entries the clock is read anew."""
                return self._query_time_after_num_entries

            def get_periodic_compaction_time(self) -> Duration:
                """Return the age at which a file is compacted in any case."""
                return self._periodic_compaction_time

        EMPTY_STRATEGY = EmptyCleanupStrategy()

        def __init__(self, strategies: dict[Strategies, CleanupStrategy], is_cleanup_in_background: bool) -> None:
            self._strategies = strategies
            self._is_cleanup_in_background = is_cleanup_in_background

        def is_cleanup_in_background(self) -> bool:
            """Tell whether the backend removes expired entries on its own."""
            return self._is_cleanup_in_background

        def in_full_snapshot(self) -> bool:
            """Tell whether a full snapshot leaves expired entries out."""
            return Strategies.FULL_STATE_SCAN_SNAPSHOT in self._strategies

        def get_incremental_cleanup_strategy(self) -> IncrementalCleanupStrategy | None:
            """Return the incremental settings; in the background 5 entries per access is the default."""
            chosen = self._strategies.get(Strategies.INCREMENTAL_CLEANUP)
            if isinstance(chosen, IncrementalCleanupStrategy):
                return chosen
            return IncrementalCleanupStrategy(5, False) if self._is_cleanup_in_background else None

        def get_rocksdb_compact_filter_cleanup_strategy(self) -> RocksdbCompactFilterCleanupStrategy | None:
            """Return the compaction settings; in the background the clock is read every 1000 entries by default."""
            chosen = self._strategies.get(Strategies.ROCKSDB_COMPACTION_FILTER)
            if isinstance(chosen, RocksdbCompactFilterCleanupStrategy):
                return chosen
            return RocksdbCompactFilterCleanupStrategy(1000) if self._is_cleanup_in_background else None

    def __init__(
        self,
        update_type: UpdateType,
        state_visibility: StateVisibility,
        ttl_time_characteristic: TtlTimeCharacteristic,
        ttl: Time | Duration,
        cleanup_strategies: CleanupStrategies,
    ) -> None:
        self._update_type = update_type
        self._state_visibility = state_visibility
        self._ttl_time_characteristic = ttl_time_characteristic
        self._ttl = ttl
        self._cleanup_strategies = cleanup_strategies

    @staticmethod
    def new_builder(ttl: Time | Duration) -> StateTtlConfig.Builder:
        """Start a configuration with the given time to live."""
        return StateTtlConfig.Builder(ttl)

    def get_update_type(self) -> UpdateType:
        """Return which accesses restart the clock."""
        return self._update_type

    def get_state_visibility(self) -> StateVisibility:
        """Return whether expired entries may be read."""
        return self._state_visibility

    def get_ttl(self) -> Time | Duration:
        """Return the time to live as it was given."""
        return self._ttl

    def get_ttl_time_characteristic(self) -> TtlTimeCharacteristic:
        """Return the clock that expiry follows."""
        return self._ttl_time_characteristic

    def is_enabled(self) -> bool:
        """Tell whether entries expire at all."""
        return self._update_type is not UpdateType.Disabled

    def get_cleanup_strategies(self) -> CleanupStrategies:
        """Return the ways in which expired entries are removed."""
        return self._cleanup_strategies

    @property
    def ttl_ms(self) -> int:
        """The time to live in milliseconds."""
        return self._ttl.to_milliseconds() if isinstance(self._ttl, Time) else self._ttl.to_millis()

    def __repr__(self) -> str:
        return (
            f"StateTtlConfig<update_type={self._update_type}, state_visibility={self._state_visibility},"
            f"ttl_time_characteristic ={self._ttl_time_characteristic},ttl={self._ttl}>"
        )

    class Builder:
        """Collects the settings of a StateTtlConfig."""

        def __init__(self, ttl: Time | Duration) -> None:
            self._ttl = ttl
            self._update_type = UpdateType.OnCreateAndWrite
            self._state_visibility = StateVisibility.NeverReturnExpired
            self._ttl_time_characteristic = TtlTimeCharacteristic.ProcessingTime
            self._is_cleanup_in_background = True
            self._strategies: dict[Strategies, CleanupStrategy] = {}

        def set_update_type(self, update_type: UpdateType) -> StateTtlConfig.Builder:
            """Choose which accesses restart the clock."""
            self._update_type = require_member(UpdateType, update_type, "set_update_type()")
            return self

        def update_ttl_on_create_and_write(self) -> StateTtlConfig.Builder:
            """Restart the clock on writes only."""
            return self.set_update_type(UpdateType.OnCreateAndWrite)

        def update_ttl_on_read_and_write(self) -> StateTtlConfig.Builder:
            """Restart the clock on reads and writes."""
            return self.set_update_type(UpdateType.OnReadAndWrite)

        def set_state_visibility(self, state_visibility: StateVisibility) -> StateTtlConfig.Builder:
            """Choose whether expired entries may be read."""
            self._state_visibility = require_member(StateVisibility, state_visibility, "set_state_visibility()")
            return self

        def return_expired_if_not_cleaned_up(self) -> StateTtlConfig.Builder:
            """Let expired entries be read until they are removed."""
            return self.set_state_visibility(StateVisibility.ReturnExpiredIfNotCleanedUp)

        def never_return_expired(self) -> StateTtlConfig.Builder:
            """Hide expired entries."""
            return self.set_state_visibility(StateVisibility.NeverReturnExpired)

        def set_ttl_time_characteristic(self, ttl_time_characteristic: TtlTimeCharacteristic) -> StateTtlConfig.Builder:
            """Choose the clock that expiry follows."""
            asker = "set_ttl_time_characteristic()"
            self._ttl_time_characteristic = require_member(TtlTimeCharacteristic, ttl_time_characteristic, asker)
            return self

        def use_processing_time(self) -> StateTtlConfig.Builder:
            """Let expiry follow processing time."""
            return self.set_ttl_time_characteristic(TtlTimeCharacteristic.ProcessingTime)

        def cleanup_full_snapshot(self) -> StateTtlConfig.Builder:
            """Leave expired entries out of full snapshots."""
            self._strategies[Strategies.FULL_STATE_SCAN_SNAPSHOT] = CleanupStrategies.EMPTY_STRATEGY
            return self

        def cleanup_incrementally(
            self, cleanup_size: int, run_cleanup_for_every_record: bool
        ) -> StateTtlConfig.Builder:
            """Look at `cleanup_size` entries at every state access."""
            strategy = IncrementalCleanupStrategy(cleanup_size, run_cleanup_for_every_record)
            self._strategies[Strategies.INCREMENTAL_CLEANUP] = strategy
            return self

        def cleanup_in_rocksdb_compact_filter(
            self, query_time_after_num_entries: int, periodic_compaction_time: Duration | None = None
        ) -> StateTtlConfig.Builder:
            """Drop expired entries while RocksDB compacts its files."""
            strategy = RocksdbCompactFilterCleanupStrategy(query_time_after_num_entries, periodic_compaction_time)
            self._strategies[Strategies.ROCKSDB_COMPACTION_FILTER] = strategy
            return self

        def disable_cleanup_in_background(self) -> StateTtlConfig.Builder:
            """Remove expired entries only where a strategy was chosen."""
            self._is_cleanup_in_background = False
            return self

        def set_ttl(self, ttl: Time | Duration) -> StateTtlConfig.Builder:
            """Change the time to live."""
            self._ttl = ttl
            return self

        def build(self) -> StateTtlConfig:
            """Return the configuration."""
            return StateTtlConfig(
                self._update_type,
                self._state_visibility,
                self._ttl_time_characteristic,
                self._ttl,
                CleanupStrategies(dict(self._strategies), self._is_cleanup_in_background),
            )


# Short names for the methods above: a nested class is not visible inside the methods of its neighbours.
UpdateType = StateTtlConfig.UpdateType
StateVisibility = StateTtlConfig.StateVisibility
TtlTimeCharacteristic = StateTtlConfig.TtlTimeCharacteristic
CleanupStrategies = StateTtlConfig.CleanupStrategies
Strategies = CleanupStrategies.Strategies
CleanupStrategy = CleanupStrategies.CleanupStrategy
IncrementalCleanupStrategy = CleanupStrategies.IncrementalCleanupStrategy
RocksdbCompactFilterCleanupStrategy = CleanupStrategies.RocksdbCompactFilterCleanupStrategy
