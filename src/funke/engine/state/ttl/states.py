"""State whose entries expire: every stored value carries the time of its last use.

Tables are ordered by the last use of their keys, so expired keys stand in front. Flink's rules: an entry is expired
when its last use plus the time to live is at or before now; reading an expired entry removes it, and returns it once
if expired values may be seen. Lists and maps expire element by element.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from funke.engine.state.descriptors import StateDescriptor
from funke.engine.state.interfaces import AggregatingState, ListState, MapState, ReducingState, ValueState
from funke.engine.state.keyed.backend import KeyedBackend
from funke.engine.state.ttl.config import StateTtlConfig

__all__ = ["TtlState", "create_ttl_state"]


class TtlState:
    """What all kinds share: the settings, the table, and the removal of expired keys."""

    def __init__(self, config: StateTtlConfig, backend: KeyedBackend, now_ms: Callable[[], int]) -> None:
        self._backend = backend
        self._now_ms = now_ms
        self._ttl_ms = self.ttl_ms = config.ttl_ms
        self._refreshes_on_read = config.get_update_type() is StateTtlConfig.UpdateType.OnReadAndWrite
        visibility = config.get_state_visibility()
        self._shows_expired = visibility is StateTtlConfig.StateVisibility.ReturnExpiredIfNotCleanedUp
        cleanup = config.get_cleanup_strategies().get_incremental_cleanup_strategy()
        self._cleanup_size = cleanup.get_cleanup_size() if cleanup is not None else 0
        self.table: OrderedDict[Any, Any] = OrderedDict()

    def clear(self) -> None:
        """Forget what is stored for the current key."""
        self.table.pop(self._backend.current_key, None)

    def keep_in(self, table: Any) -> None:
        """Uses a table that is not in order of last use, from which a sweeper removes unread entries."""
        self.table = table
        self._cleanup_size = 0

    @property
    def is_cleaned_up(self) -> bool:
        """Whether expired entries go even if they are never read."""
        return self._cleanup_size > 0

    def with_times(self, stored: Any) -> Any:
        """What a state that did not expire before has stored; it begins to live now."""
        return self._with_times(stored, self._now_ms())

    def unexpired(self, stored: Any) -> Any:
        """An entry without what has expired; nothing if all of it has."""
        return self._without_expired(stored, self._now_ms() - self._ttl_ms)

    def unexpired_items(self) -> Iterator[tuple[Any, Any]]:
        """All entries without what has expired, for a snapshot."""
        deadline = self._now_ms() - self._ttl_ms
        kept = ((key, self._without_expired(stored, deadline)) for key, stored in self.table.items())
        return ((key, stored) for key, stored in kept if stored)

    def load(self, table: dict[Any, Any], has_times: bool) -> None:
        """Takes what a snapshot held; entries of a state that did not expire before start to live now."""
        now = self._now_ms()
        loaded = {key: stored if has_times else self._with_times(stored, now) for key, stored in table.items()}
        self.table = OrderedDict(sorted(loaded.items(), key=lambda item: self._last_use(item[1])))

    @staticmethod
    def without_times(kind: str, table: dict[Any, Any]) -> dict[Any, Any]:
        """The contents of a table of expiring state as a table of plain state."""
        state_class = _CLASSES[kind]
        return {key: state_class._plain(stored) for key, stored in table.items()}

    def _store(self, key: Any, stored: Any) -> None:
        self.table[key] = stored
        self.table.move_to_end(key)

    def _drop_some_expired(self, deadline: int) -> None:
        table = self.table
        for _ in range(self._cleanup_size):
            if not table:
                return
            oldest = next(iter(table))
            if self._last_use(table[oldest]) > deadline:
                return
            if self._shows_expired and oldest == self._backend.current_key:
                # A concurrent reader of this key may still see the rest of it.
                return
            del table[oldest]

    # What one stored entry looks like: here a pair of value and time; lists and maps differ.

    @staticmethod
    def _last_use(stored: Any) -> int:
        time: int = stored[1]
        return time

    @staticmethod
    def _without_expired(stored: Any, deadline: int) -> Any:
        return stored if stored[1] > deadline else None

    @staticmethod
    def _with_times(plain: Any, now: int) -> Any:
        return plain, now

    @staticmethod
    def _plain(stored: Any) -> Any:
        return stored[0]


class _SingleState(TtlState):
    """One expiring value per key."""

    def _read(self) -> Any:
        key = self._backend.current_key
        stored = self.table.get(key)
        now = self._now_ms()
        value = None
        if stored is not None:
            if stored[1] <= now - self._ttl_ms:
                del self.table[key]
                value = stored[0] if self._shows_expired else None
            else:
                value = stored[0]
                if self._refreshes_on_read:
                    self._store(key, (value, now))
        self._drop_some_expired(now - self._ttl_ms)
        return value

    def _write(self, value: Any) -> None:
        now = self._now_ms()
        self._store(self._backend.current_key, (value, now))
        self._drop_some_expired(now - self._ttl_ms)

    def _unexpired(self) -> Any:
        stored = self.table.get(self._backend.current_key)
        return stored[0] if stored is not None and stored[1] > self._now_ms() - self._ttl_ms else None


class TtlValueState(_SingleState, ValueState[Any]):
    """One value per key."""

    def value(self) -> Any:
        return self._read()

    def update(self, value: Any) -> None:
        if value is None:
            self.clear()
        else:
            self._write(value)


class TtlReducingState(_SingleState, ReducingState[Any]):
    """One value per key, combined by a function."""

    reduce: Callable[[Any, Any], Any]

    def get(self) -> Any:
        return self._read()

    def add(self, value: Any) -> None:
        """Combine with one more element; what has expired does not take part."""
        current = self._unexpired()
        self._write(value if current is None else self.reduce(current, value))

    def merge(self, left: Any, right: Any) -> Any:
        """One entry for both."""
        return self.reduce(left[0], right[0]), max(left[1], right[1])


class TtlAggregatingState(_SingleState, AggregatingState[Any, Any]):
    """One accumulator per key."""

    function: Any

    def get(self) -> Any:
        """Return the result of the accumulator, or None when nothing was added."""
        accumulator = self._read()
        return None if accumulator is None else self.function.get_result(accumulator)

    def add(self, value: Any) -> None:
        """Add one element; None clears the state."""
        if value is None:
            self.clear()
            return
        accumulator = self._unexpired()
        if accumulator is None:
            accumulator = self.function.create_accumulator()
        self._write(self.function.add(value, accumulator))

    def merge(self, left: Any, right: Any) -> Any:
        """One entry for both."""
        return self.function.merge(left[0], right[0]), max(left[1], right[1])


class TtlListState(TtlState, ListState[Any]):
    """One list of (element, time) per key."""

    def get(self) -> list[Any]:
        now = self._now_ms()
        key = self._backend.current_key
        stored = self.table.get(key, ())
        alive = [entry for entry in stored if entry[1] > now - self._ttl_ms]
        if not alive:
            self.table.pop(key, None)
        elif self._refreshes_on_read:
            self._store(key, [(value, now) for value, _ in alive])
        elif not self._shows_expired:
            self.table[key] = alive
        self._drop_some_expired(now - self._ttl_ms)
        return [value for value, _ in (stored if self._shows_expired else alive)]

    def add(self, value: Any) -> None:
        self.add_all((value,))

    def add_all(self, values: Iterable[Any]) -> None:
        now = self._now_ms()
        added = [(value, now) for value in values]
        if added:
            key = self._backend.current_key
            stored = self._unexpired(key, now)
            stored.extend(added)
            self._store(key, stored)
        self._drop_some_expired(now - self._ttl_ms)

    def update(self, values: Iterable[Any]) -> None:
        self.clear()
        self.add_all(values)

    @staticmethod
    def merge(left: list[Any], right: list[Any]) -> list[Any]:
        """One list for the elements of both."""
        return sorted(left + right, key=lambda entry: entry[1])

    def _unexpired(self, key: Any, now: int) -> list[Any]:
        stored: list[Any] = self.table.get(key, [])
        # In order of time: if the first has not expired, none has.
        if self._shows_expired or not stored or stored[0][1] > now - self._ttl_ms:
            return stored
        return [entry for entry in stored if entry[1] > now - self._ttl_ms]

    @staticmethod
    def _last_use(stored: Any) -> int:
        time: int = stored[-1][1]
        return time

    @staticmethod
    def _without_expired(stored: Any, deadline: int) -> Any:
        return [entry for entry in stored if entry[1] > deadline]

    @staticmethod
    def _with_times(plain: Any, now: int) -> Any:
        return [(value, now) for value in plain]

    @staticmethod
    def _plain(stored: Any) -> Any:
        return [value for value, _ in stored]


class TtlMapState(TtlState, MapState[Any, Any]):
    """One map from map key to (value, time) per key, ordered by time."""

    def get(self, key: Any) -> Any:
        now = self._now_ms()
        value = self._read(key, now)
        self._drop_some_expired(now - self._ttl_ms)
        return value

    def put(self, key: Any, value: Any) -> None:
        self.put_all({key: value})

    def put_all(self, dict_value: dict[Any, Any]) -> None:
        now = self._now_ms()
        current = self._backend.current_key
        stored = self.table.get(current)
        if stored is None:
            stored = OrderedDict()
        self._drop_some_entries(stored, now - self._ttl_ms)
        for key, value in dict_value.items():
            stored[key] = (value, now)
            stored.move_to_end(key)
        if stored:
            self._store(current, stored)
        self._drop_some_expired(now - self._ttl_ms)

    def remove(self, key: Any) -> None:
        current = self._backend.current_key
        stored = self.table.get(current)
        if stored is not None:
            stored.pop(key, None)
            if stored:
                self.table[current] = stored
            else:
                self.clear()

    def contains(self, key: Any) -> bool:
        return self.get(key) is not None

    def items(self) -> Iterator[tuple[Any, Any]]:
        return iter(self._read_all())

    def keys(self) -> Iterator[Any]:
        return iter([key for key, _ in self._read_all()])

    def values(self) -> Iterator[Any]:
        return iter([value for _, value in self._read_all()])

    def is_empty(self) -> bool:
        """Tell whether there is no entry that could be read."""
        stored = self.table.get(self._backend.current_key)
        if stored is None:
            return True
        return not self._shows_expired and self._last_use(stored) <= self._now_ms() - self._ttl_ms

    def _read(self, key: Any, now: int) -> Any:
        current = self._backend.current_key
        stored = self.table.get(current)
        if stored is None or key not in stored:
            return None
        value, time = stored[key]
        if time <= now - self._ttl_ms:
            self.remove(key)
            return value if self._shows_expired else None
        if self._refreshes_on_read:
            stored[key] = (value, now)
            stored.move_to_end(key)
            self._store(current, stored)
        return value

    def _read_all(self) -> list[tuple[Any, Any]]:
        now = self._now_ms()
        deadline = now - self._ttl_ms
        stored = self.table.get(self._backend.current_key, {})
        entries = list(stored.items())
        values = [(key, self._read(key, now)) for key, _ in entries]
        self._drop_some_expired(deadline)
        if self._shows_expired:
            return values
        return [(key, value) for (key, value), (_, (_, time)) in zip(values, entries, strict=True) if time > deadline]

    def _drop_some_entries(self, stored: OrderedDict[Any, Any], deadline: int) -> None:
        for _ in range(self._cleanup_size):
            if not stored or next(iter(stored.values()))[1] > deadline:
                return
            stored.popitem(last=False)

    @staticmethod
    def _last_use(stored: Any) -> int:
        time: int = next(reversed(stored.values()))[1]
        return time

    @staticmethod
    def _without_expired(stored: Any, deadline: int) -> Any:
        return OrderedDict((key, entry) for key, entry in stored.items() if entry[1] > deadline)

    @staticmethod
    def _with_times(plain: Any, now: int) -> Any:
        return OrderedDict((key, (value, now)) for key, value in plain.items())

    @staticmethod
    def _plain(stored: Any) -> Any:
        return {key: value for key, (value, _) in stored.items()}


_CLASSES: dict[str, type[TtlState]] = {
    "value": TtlValueState,
    "list": TtlListState,
    "map": TtlMapState,
    "reducing": TtlReducingState,
    "aggregating": TtlAggregatingState,
}


def create_ttl_state(kind: str, descriptor: StateDescriptor, backend: KeyedBackend, now_ms: Callable[[], int]) -> Any:
    """The handle of expiring state that fits a descriptor with a time to live."""
    described: Any = descriptor
    state = _CLASSES[kind](described.ttl_config, backend, now_ms)
    if isinstance(state, TtlReducingState):
        state.reduce = described.get_reduce_function().reduce
    elif isinstance(state, TtlAggregatingState):
        state.function = described.get_agg_function()
    return state
