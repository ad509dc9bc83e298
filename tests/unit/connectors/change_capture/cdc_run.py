"""Runs a source of changes as a job does, without a job: subtasks, checkpoints in the middle of anything, kills."""

from __future__ import annotations

import random
import time
from collections import Counter

import cloudpickle

from funke.engine.connectors.source import ReadOutcome, Split

SIGNS = ["+I", "-U", "+U", "-D"]


class CdcRun:
    """One job; `changes` is what its readers sent, and counts up to the last checkpoint after a kill."""

    def __init__(self, source, parallelism=2, seed=0):
        self.source, self.parallelism = source, parallelism
        self.chance = random.Random(seed)
        self.changes = []
        self._saved = (None, [], 0)
        self._checkpoints = 0
        self._start()

    def _start(self):
        state, unfinished, length = cloudpickle.loads(cloudpickle.dumps(self._saved))
        self.changes = self.changes[:length]
        self.enumerator = self.source.create_enumerator(self.parallelism, state)
        self.readers = [
            cloudpickle.loads(cloudpickle.dumps(self.source.create_reader())) for _ in range(self.parallelism)
        ]
        # By subtask: [split, records, generator].
        self.assigned_reads = [[] for _ in range(self.parallelism)]
        for split, records in unfinished:
            self._give(split, records)

    def _give(self, split, records=0):
        subtask = 0 if split.id == "changes" else self.chance.randrange(self.parallelism)
        self.assigned_reads[subtask].append([split, records, None])

    def step(self):
        """A subtask reads a record, or finds that there is none yet."""
        for split in self.enumerator.poll(10_000):
            self._give(cloudpickle.loads(cloudpickle.dumps(split)))
        busy = [subtask for subtask in range(self.parallelism) if self.assigned_reads[subtask]]
        if not busy:
            return
        subtask = self.chance.choice(busy)
        reading = self.assigned_reads[subtask][0]
        if reading[2] is None:
            reading[2] = self._reading(self.readers[subtask], reading)
        try:
            next(reading[2])
        except StopIteration as end:
            self.assigned_reads[subtask].pop(0)
            self.enumerator.report(ReadOutcome(reading[0], reading[1], end.value))

    def _reading(self, reader, reading):
        split, skip = reading[0], reading[1]
        rest = reader.behind(split, skip)
        skip = skip if rest is None else 0
        batches = reader.read(split if rest is None else rest)
        while True:
            try:
                batch, _ = next(batches)
            except StopIteration as end:
                return end.value
            skipped = min(skip, len(batch))
            skip -= skipped
            for record in batch[skipped:]:
                reading[1] += 1
                self._take(record)
                yield
            if not batch:
                yield

    def _take(self, batch):
        kinds = [0] * len(batch) if batch.kinds is None else batch.kinds.tolist()
        self.changes += [(SIGNS[kind], tuple(row.values())) for kind, row in zip(kinds, batch.data.to_pylist())]

    def checkpoint(self, is_completed=True):
        self._checkpoints += 1
        state = self.enumerator.snapshot()
        unfinished = [
            self._left(reader, split, records)
            for reader, assigned in zip(self.readers, self.assigned_reads)
            for split, records, _ in assigned
        ]
        if is_completed:
            self._saved = cloudpickle.loads(cloudpickle.dumps((state, unfinished, len(self.changes))))
            self.enumerator.notify_checkpoint_complete(self._checkpoints)
        else:
            self.enumerator.notify_checkpoint_aborted(self._checkpoints)

    @staticmethod
    def _left(reader, split, records):
        rest = reader.rest(split, records)
        return (Split(split.id, split.payload, split.is_last), records) if rest is None else (rest, 0)

    def kill(self):
        self.close()
        self._start()

    def close(self):
        for reader in self.readers:
            reader.close()
        self.enumerator.close()

    def run_until(self, is_done, seconds=60):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for _ in range(5):
                self.step()
            if is_done():
                return
        raise AssertionError(f"not done; {len(self.changes)} changes")

    def table(self):
        """The rows after all changes; one that goes must be there, one that comes must not."""
        rows = Counter()
        for sign, row in self.changes:
            rows[row] += 1 if sign in ("+I", "+U") else -1
            assert rows[row] in (0, 1), f"{sign} {row} leaves {rows[row]}"
        return sorted((row for row, count in rows.items() if count), key=repr)

    def upserted(self, key=0):
        """The last row of each key."""
        rows = {}
        for sign, row in self.changes:
            if sign == "-D":
                rows.pop(row[key], None)
            else:
                rows[row[key]] = row
        return sorted(rows.values(), key=repr)
