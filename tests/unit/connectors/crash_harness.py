"""Drives the writers and the committer of a sink as a job does, and crashes at any step."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from funke.engine.connectors.committing import SinkCommits
from funke.engine.connectors.sink import Committer, Sink, SinkWriter, WriterContext
from funke.engine.types.information.type_information import TypeInformation

# Where a round (some records, then a checkpoint) can be cut: after the records, when the writers are prepared, when the
# checkpoint is complete, after the first committable, and when all is committed.
CRASH_POINTS = ("written", "prepared", "complete", "half committed", "committed")


class Crash(Exception):
    """The process is gone."""


@dataclass
class Kept:
    """What the last complete checkpoint holds."""

    position: int = 0
    epoch: int = 0
    states: list[Any] = field(default_factory=list)
    committables: list[Any] = field(default_factory=list)
    is_final: bool = False


class CrashingJob:
    """Writes records in rounds; `crashes` says, for round numbers, at which point it dies, once each."""

    def __init__(
        self,
        sink: Sink,
        records: list[Any],
        crashes: dict[int, str],
        kill: Callable[[SinkWriter], None],
        input_type: TypeInformation | None = None,
        parallelism: tuple[int, ...] = (2,),
        per_round: int = 2,
        aborted: frozenset[int] = frozenset(),
        staging_folder: str | None = None,
    ) -> None:
        self._sink = sink
        self._records = records
        self._crashes = dict(crashes)
        self._kill = kill
        self._type = input_type
        self._parallelism = parallelism
        self._per_round = per_round
        self._aborted = aborted
        self._staging_folder = staging_folder
        self._kept = Kept()
        self.attempts = 0

    def run(self) -> None:
        """Runs attempts until one gets to the end."""
        while True:
            writers: list[SinkWriter] = []
            try:
                self._run_attempt(writers)
                for writer in writers:
                    writer.close()
                return
            except Crash:
                for writer in writers:
                    self._kill(writer)
                self.attempts += 1

    def _run_attempt(self, writers: list[SinkWriter]) -> None:
        kept = self._kept
        committer = self._new_committer()
        SinkCommits({"sink": committer}).recover(kept.epoch, {"sink": kept.committables})
        if kept.is_final:
            return
        parallelism = self._parallelism[min(self.attempts, len(self._parallelism) - 1)]
        sink = pickle.loads(pickle.dumps(self._sink))
        for subtask in range(parallelism):
            # As the runtime does: states of the same subtask, or lists joined and dealt out anew.
            same = len(kept.states) == parallelism
            joined = [item for state in kept.states for item in state or []]
            restored = kept.states[subtask] if same else joined[subtask::parallelism] or None
            writers.append(sink.create_writer(self._context(subtask, parallelism), restored))
        position, epoch, waiting = kept.position, kept.epoch, []
        while True:
            epoch += 1
            batch = self._records[position : position + self._per_round]
            position += len(batch)
            for index, writer in enumerate(writers):
                writer.write(batch[index::parallelism], None)
            self._reach(epoch, "written")
            is_final = position >= len(self._records)
            for writer in writers:
                writer.flush(is_final)
                if not is_final:
                    writer.prepare_snapshot(epoch)
                waiting += writer.prepare_commit()
            states = [None if is_final else writer.snapshot() for writer in writers]
            self._reach(epoch, "prepared")
            if epoch in self._aborted and not is_final:
                continue  # the checkpoint failed; what was prepared goes into the next one
            self._kept = Kept(position, epoch, *pickle.loads(pickle.dumps((states, waiting))), is_final)
            self._reach(epoch, "complete")
            self._commit(committer, epoch, waiting)
            self._reach(epoch, "committed")
            waiting = []
            if is_final:
                return

    def _commit(self, committer: Committer, epoch: int, waiting: list[Any]) -> None:
        if self._crashes.get(epoch) == "half committed":
            committer.commit_epoch(epoch, waiting[:1])
            self._reach(epoch, "half committed")
        SinkCommits({"sink": committer}).commit(epoch, {"sink": waiting})

    def _new_committer(self) -> Committer:
        committer = self._sink.create_committer()
        assert committer is not None
        return committer

    def _reach(self, epoch: int, point: str) -> None:
        if self._crashes.get(epoch) == point:
            del self._crashes[epoch]
            raise Crash

    def _context(self, subtask: int, parallelism: int) -> WriterContext:
        return WriterContext(
            "job",
            subtask,
            parallelism,
            self.attempts,
            self._type,
            lambda: 0,
            lambda channel, payload: None,
            "op",
            self._staging_folder,
        )
