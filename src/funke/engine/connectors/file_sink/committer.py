"""Makes finished part files visible: by giving them their final names, or by one file in place of several."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

from funke.engine.connectors.file_sink.compaction import Compactor, CompactRequest
from funke.engine.connectors.file_sink.part_name import to_compacted_name
from funke.engine.connectors.file_sink.pending_file import PendingFile, cut_to_size
from funke.engine.connectors.file_sink.storage import Storage, open_storage
from funke.engine.connectors.sink import Committer
from funke.engine.errors import SinkError

__all__ = ["FileCommitter", "PendingFile"]


class FileCommitter(Committer):
    """Renames pending files, and compacts those that writers ask it to compact.

    It may be interrupted anywhere and called again with the same committables: a file is either still hidden, or
    renamed already; a compacted file is written again unless the last of its parts is gone, which is deleted first.
    """

    def __init__(self, base_path: str, compactor: Compactor | None = None, num_threads: int = 1) -> None:
        self._base_path = base_path
        self._compactor = compactor
        self._num_threads = num_threads
        self._storage: Storage | None = None

    def commit(self, committables: list[Any]) -> None:
        if not committables:
            return
        if self._storage is None:
            self._storage = open_storage(self._base_path)
        for pending in committables:
            if isinstance(pending, PendingFile):
                _commit_file(self._storage, pending)
        if groups := _groups([each for each in committables if isinstance(each, CompactRequest)]):
            self._compact_all(self._storage, groups)

    def _compact_all(self, storage: Storage, groups: list[list[PendingFile]]) -> None:
        with ThreadPoolExecutor(self._num_threads, "compact") as threads:
            for done in [threads.submit(self._compact, storage, group) for group in groups]:
                done.result()

    def _compact(self, storage: Storage, files: list[PendingFile]) -> None:
        folder, _, first = files[0].final_path.rpartition("/")
        target = storage.join(folder, to_compacted_name(first))
        is_there = [cut_to_size(storage, file) for file in files]
        if all(is_there) and self._compactor is not None:
            _write_compacted(storage, self._compactor, files, target)
        elif storage.size(target) is None or (is_there[-1] and self._compactor is not None):
            self._commit_apart(storage, files)
            return
        # The last goes first: as long as it is there, the compacted file is written again from all of them.
        for file in reversed(files):
            storage.delete(file.in_progress_path)

    def _commit_apart(self, storage: Storage, files: list[PendingFile]) -> None:
        if self._compactor is not None:
            raise SinkError(
                f"{files[0].final_path} and the files behind it cannot be compacted: not all of them are there; "
                "was the directory cleaned, or does the job start from an older checkpoint?"
            )
        # Compaction was switched off since.
        for file in files:
            _commit_file(storage, file)


def _groups(requests: list[CompactRequest]) -> list[list[PendingFile]]:
    """The files that become one file: those of a full request, and those of all other requests for a bucket."""
    groups: dict[Any, list[PendingFile]] = {}
    for number, request in enumerate(requests):
        groups.setdefault(number if request.is_full else request.bucket_id, []).extend(request.files)
    return list(groups.values())


def _write_compacted(storage: Storage, compactor: Compactor, files: list[PendingFile], target: str) -> None:
    if len(files) == 1 and compactor.keeps_one_as_it_is:
        storage.move(files[0].in_progress_path, target)
        return
    folder, _, name = target.rpartition("/")
    # Always the same name, so that a crash leaves nothing behind that the next try does not remove.
    hidden = storage.join(folder, f".{name}.inprogress")
    storage.delete(hidden)
    with storage.create(hidden) as stream:
        compactor.compact(files, storage, stream)
        storage.sync(stream)
    if storage.uri is not None:
        storage.delete(target)  # of a commit that died; Hadoop does not rename onto a file
    storage.move(hidden, target)


def _commit_file(storage: Storage, pending: PendingFile) -> None:
    if cut_to_size(storage, pending):
        storage.move(pending.in_progress_path, pending.final_path)
    elif storage.size(pending.final_path) is None:
        raise SinkError(
            f"{pending.final_path} cannot be committed: neither it nor {pending.in_progress_path} exists; "
            "was the directory cleaned while the job was running?"
        )
