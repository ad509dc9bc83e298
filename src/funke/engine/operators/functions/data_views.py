"""Collections in the accumulator of an aggregate function, which state may keep entry by entry."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, TypeVar

__all__ = ["DataView", "ListView", "MapView"]

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")


class DataView(ABC):
    """A collection in an accumulator.

    >>> from funke.table import DataView, ListView
    >>> class Accumulator:
    ...     def __init__(self):
    ...         self.seen: DataView = ListView()
    >>> accumulator = Accumulator()
    >>> accumulator.seen.add("tea")
    >>> accumulator.seen.clear()
    >>> list(accumulator.seen.get())
    []
    """

    @abstractmethod
    def clear(self) -> None:
        """Remove everything."""


class ListView(DataView, Generic[T]):
    """A list in an accumulator.

    >>> from funke.table import ListView
    >>> names = ListView()  # in create_accumulator(); its type is DataTypes.LIST_VIEW(DataTypes.STRING())
    >>> names.add("tea")
    >>> names.add_all(["milk", "sugar"])
    >>> list(names)
    ['tea', 'milk', 'sugar']
    """

    def __init__(self) -> None:
        self._list: list[T] = []

    def get(self) -> Iterable[T]:
        """Return the elements."""
        return self._list

    def add(self, value: T) -> None:
        """Append an element."""
        self._list.append(value)

    def add_all(self, values: list[T]) -> None:
        """Append elements."""
        self._list.extend(values)

    def clear(self) -> None:
        """Remove all elements."""
        self._list = []

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ListView) and list(self) == list(other)

    # A list that changes has no hash; PyFlink's raises a TypeError too.
    __hash__ = None  # type: ignore[assignment]

    def __iter__(self) -> Iterator[T]:
        return iter(self.get())


class _Entries(Generic[K, V, T]):
    """A view of a map, whose iterators may take away the entry that they have just given."""

    def __init__(self, entries: dict[K, V], of_key: Callable[[K], T]) -> None:
        self._entries = entries
        self._of_key = of_key

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> _EntryIterator[K, V, T]:
        return _EntryIterator(self._entries, self._of_key)


class _EntryIterator(Iterator[T], Generic[K, V, T]):
    def __init__(self, entries: dict[K, V], of_key: Callable[[K], T]) -> None:
        self._entries = entries
        self._of_key = of_key
        self._keys = iter(list(entries))
        self._last: list[K] = []

    def __next__(self) -> T:
        self._last = [next(self._keys)]
        return self._of_key(self._last[0])

    def remove(self) -> None:
        """Remove the entry that was given last."""
        if not self._last:
            raise ValueError("remove() removes the last result of next(): call next() first, and remove() once")
        del self._entries[self._last.pop()]


class MapView(Generic[K, V]):
    """A map in an accumulator.

    >>> from funke.table import MapView
    >>> counts = MapView()  # in create_accumulator(); its type is DataTypes.MAP_VIEW(..., ...)
    >>> counts["tea"] = 1
    >>> counts.put_all({"milk": 2})
    >>> counts.contains("tea"), dict(counts.items())
    (True, {'tea': 1, 'milk': 2})
    """

    def __init__(self) -> None:
        self._dict: dict[K, V] = {}

    def get(self, key: K) -> V:
        """Return the value of a key, which must be there."""
        return self._dict[key]

    def put(self, key: K, value: V) -> None:
        """Store a value."""
        self._dict[key] = value

    def put_all(self, dict_value: dict[K, V]) -> None:
        """Store all entries of a dict."""
        self._dict.update(dict_value)

    def remove(self, key: K) -> None:
        """Remove a key, which must be there."""
        del self._dict[key]

    def contains(self, key: K) -> bool:
        """Tell whether a key is there."""
        return key in self._dict

    def items(self) -> Iterable[tuple[K, V]]:
        """Return all entries; iterators of them have `remove()`."""
        return _Entries(self._dict, lambda key: (key, self._dict[key]))

    def keys(self) -> Iterable[K]:
        """Return all keys; iterators of them have `remove()`."""
        return _Entries(self._dict, lambda key: key)

    def values(self) -> Iterable[V]:
        """Return all values; iterators of them have `remove()`."""
        return _Entries(self._dict, lambda key: self._dict[key])

    def is_empty(self) -> bool:
        """Tell whether nothing is there."""
        return not self._dict

    def clear(self) -> None:
        """Remove all entries."""
        self._dict.clear()

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, MapView) and dict(self.items()) == dict(other.items())

    __hash__ = None  # type: ignore[assignment]

    def __getitem__(self, key: K) -> V:
        return self.get(key)

    def __setitem__(self, key: K, value: V) -> None:
        self.put(key, value)

    def __delitem__(self, key: K) -> None:
        self.remove(key)

    def __contains__(self, key: K) -> bool:
        return self.contains(key)

    def __iter__(self) -> Iterator[K]:
        return iter(self.keys())
