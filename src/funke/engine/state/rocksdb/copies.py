"""Copies of a database as of a checkpoint: linked files, what they hold, and entries the database did not have yet."""

from __future__ import annotations

import os
import pickle
import shutil
from collections.abc import Collection, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, islice
from operator import itemgetter
from typing import Any, NamedTuple

from funke.engine.errors import StateError
from funke.engine.state.rocksdb.dump import read_rows, read_rows_elsewhere
from funke.engine.state.rocksdb.rows import split_row
from funke.engine.state.rocksdb.store import RocksDBStore
from funke.engine.state.rocksdb.tables import entries_of
from funke.engine.state.rocksdb.timer_rows import TIMERS, group_of_row
from funke.engine.state.snapshot.file_format import GroupPart, HeldState, LocalFile, TableId
from funke.engine.state.snapshot.part_chunks import CHUNK_ENTRIES
from funke.engine.state.value_codec import pack, unpack

__all__ = ["DatabaseCopy", "StateInfo", "parts_of_copy", "prepare_copy"]

_CONTENTS, _OVERLAY = "funke-contents", "funke-overlay"
_TABLE_FILE = ".sst"

# A row that a database does not have yet; None where it is to be deleted.
Fresh = tuple[bytes, bytes | None]


class StateInfo(NamedTuple):
    """A state of the database; rows carry its number."""

    number: int
    name: str
    kind: str
    has_ttl: bool


def prepare_copy(
    store: RocksDBStore, folder: str, states: Iterable[StateInfo], groups: Collection[int], max_parallelism: int
) -> DatabaseCopy:
    """Links the files of a database into a new folder."""
    shutil.rmtree(folder, ignore_errors=True)
    store.link_to(folder)
    return DatabaseCopy(folder, tuple(states), frozenset(groups), max_parallelism)


@dataclass(frozen=True)
class DatabaseCopy:
    """A folder with the files of a database."""

    folder: str
    states: tuple[StateInfo, ...]
    groups: frozenset[int]
    max_parallelism: int

    @staticmethod
    def open(folder: str) -> DatabaseCopy:
        """What `files` has described."""
        try:
            with open(os.path.join(folder, _CONTENTS), "rb") as file:
                states, groups, max_parallelism, _ = unpack(file.read())
        except OSError as error:
            raise StateError(f"'{folder}' is not a snapshot of RocksDB state: {error}") from error
        return DatabaseCopy(folder, tuple(StateInfo(*state) for state in states), frozenset(groups), max_parallelism)

    def rows(self, overlay: Iterable[Fresh], is_elsewhere: bool) -> Iterator[tuple[bytes, bytes]]:
        """All rows in order, those of `overlay` in place of the database's, which another process reads if it must."""
        fresh_rows = iter(overlay)
        fresh = next(fresh_rows, None)
        for row, value in (read_rows_elsewhere if is_elsewhere else read_rows)(self.folder):
            while fresh is not None and fresh[0] < row:
                if fresh[1] is not None:
                    yield fresh[0], fresh[1]
                fresh = next(fresh_rows, None)
            if fresh is None or fresh[0] != row:
                yield row, value
        for row, written in chain([] if fresh is None else [fresh], fresh_rows):
            if written is not None:
                yield row, written

    def files(
        self,
        overlay: Iterable[Fresh],
        instance: str,
        origins: Mapping[str, str],
        holds: tuple[HeldState, ...] = (),
    ) -> tuple[LocalFile, ...]:
        """All files, with a description and the rows of `overlay`; tables have names of their own in all snapshots."""
        shared = {name: origins.get(name, f"{instance}-{name}") for name in self._database_files() if _is_table(name)}
        # Rows that the database does not have yet may belong to key groups of which it has none.
        groups = self.groups.union(self._write_overlay(iter(overlay)))
        contents = ([tuple(state) for state in self.states], sorted(groups), self.max_parallelism, shared)
        self._write(_CONTENTS, pack(contents))
        names = [*self._database_files(), _OVERLAY]
        described = LocalFile(os.path.join(self.folder, _CONTENTS), _CONTENTS, holds=holds)
        return (
            *(LocalFile(os.path.join(self.folder, name), name, shared.get(name)) for name in names),
            described,
        )

    def _write_overlay(self, rows: Iterator[Fresh]) -> set[int]:
        """Writes rows, some at a time; returns their key groups."""
        groups: set[int] = set()
        with open(os.path.join(self.folder, _OVERLAY), "wb") as file:
            file.write(pack({}))
            while some := dict(islice(rows, CHUNK_ENTRIES)):
                groups.update(map(group_of_row, some))
                file.write(pack(some))
        return groups

    def overlay_parts(self) -> Iterator[dict[bytes, bytes | None]]:
        """The rows that the database did not have yet, some at a time."""
        # Earlier versions have written all of them as one.
        path = os.path.join(self.folder, _OVERLAY)
        with open(path, "rb") as file:
            while file.tell() < os.path.getsize(path):
                yield pickle.load(file)

    def overlay(self) -> Iterator[Fresh]:
        """The rows that the database did not have yet, in order."""
        # As the parts are. Earlier versions have written a single one, in no order.
        for rows in self.overlay_parts():
            yield from sorted(rows.items(), key=itemgetter(0))

    def copy_into(self, target: str) -> dict[str, str]:
        """Links the files of the database into another folder; returns the names that tables have in snapshots."""
        os.makedirs(target)
        for name in self._database_files():
            source = os.path.join(self.folder, name)
            # Tables never change, everything else does.
            if _is_table(name):
                _link_or_copy(source, os.path.join(target, name))
            else:
                shutil.copyfile(source, os.path.join(target, name))
        with open(os.path.join(self.folder, _CONTENTS), "rb") as file:
            shared: dict[str, str] = unpack(file.read())[3]
        return shared

    def delete(self) -> None:
        """Removes the folder."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _database_files(self) -> list[str]:
        return sorted(name for name in os.listdir(self.folder) if name not in (_CONTENTS, _OVERLAY))

    def _write(self, name: str, data: bytes) -> None:
        with open(os.path.join(self.folder, name), "wb") as file:
            file.write(data)


def parts_of_copy(folder: str, groups: Container[int]) -> Iterator[tuple[int, GroupPart]]:
    """The entries of some key groups as other snapshots have them; timers are left aside."""
    copy = DatabaseCopy.open(folder)
    states = {state.number: state for state in copy.states}
    tables: dict[TableId, dict[Any, Any]] = {}
    last_group, size = -1, 0
    for row, value in copy.rows(copy.overlay(), is_elsewhere=False):
        group, number, namespace, encoded = split_row(row)
        if group == TIMERS or group not in groups:
            continue
        if tables and (group != last_group or size >= CHUNK_ENTRIES):
            yield last_group, GroupPart(tables, [], [])
            tables, size = {}, 0
        last_group, size = group, size + 1
        state = states[number]
        table_id = TableId(state.name, unpack(namespace) if namespace else None, state.has_ttl, state.kind)
        tables.setdefault(table_id, {}).update(entries_of(encoded, value))
    if tables:
        yield last_group, GroupPart(tables, [], [])


def _is_table(name: str) -> bool:
    return name.endswith(_TABLE_FILE)


def _link_or_copy(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:  # another disk, or one without links
        shutil.copyfile(source, target)
