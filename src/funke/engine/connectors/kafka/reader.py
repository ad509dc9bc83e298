"""Reads partitions in a slot: one consumer for all of them, held as long as the job's attempt.

The slot's loop takes what the client has fetched, many messages at a time; each partition has its turn, with a
watermark of its own. When nothing is there a thread waits for the next message and wakes the loop.
"""

from __future__ import annotations

import contextlib
import operator
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Generator
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Any

from funke.engine.connectors.kafka.enumerator import PartitionRange, partition_split
from funke.engine.connectors.kafka.failures import client_logger, explain, is_passing
from funke.engine.connectors.kafka.offsets import Partition
from funke.engine.connectors.kafka.records import read_all
from funke.engine.connectors.source import Batch, Split, SplitReader
from funke.engine.errors import SourceError
from funke.engine.types.columns.column_batch import ColumnBatch
from funke.engine.types.columns.form_change import ColumnsToRows

if TYPE_CHECKING:
    from funke.engine.connectors.kafka.source import KafkaSource

__all__ = ["KafkaSplitReader"]

# Below some thousand the cost of a turn shows.
_BATCH_MESSAGES = 5_000
# How long the thread sleeps in the client when nothing comes; it wakes with the first message.
_SLEEP_S = 0.2
_JOIN_S = 5.0
_LOOK_S = 1.0
# Not `None in values`: that asks the values, and some of them do not answer with a yes or no.
_is_none = partial(operator.is_, None)
_error, _topic, _partition = (operator.methodcaller(name) for name in ("error", "topic", "partition"))


@dataclass
class _PartitionState:
    """How far a partition was read."""

    part: PartitionRange
    # Fetched, and not read yet.
    messages: list[Any] = field(default_factory=list)
    is_ended: bool = False
    # Of the last batch: how many elements came before it, the messages of its elements, and where it ends.
    before: int = 0
    batch: list[Any] = field(default_factory=list)
    position: int = 0
    # How many elements of its first message were read by an earlier attempt.
    skip: int = 0

    def behind(self, records: int) -> PartitionRange:
        """What is left after so many elements; a message may have several."""
        index = records - self.before
        if index >= len(self.batch):
            return replace(self.part, start=self.position, skip=0)
        message, first = self.batch[index], index
        while first > 0 and self.batch[first - 1] is message:
            first -= 1
        return replace(self.part, start=int(message.offset()), skip=index - first)


class KafkaSplitReader(SplitReader):
    """The reader of one source subtask."""

    is_concurrent = True

    def __init__(self, source: KafkaSource) -> None:
        self._source = source
        self._consumer: Any = None

    def open(self) -> None:
        """Prepares what must not travel; the connection is made with the first partition."""
        self._states: dict[str, _PartitionState] = {}
        self._by_partition: dict[tuple[str, int], _PartitionState] = {}
        self._asked: deque[Callable[[Any], object]] = deque()
        self._arrived: deque[list[Any]] = deque()
        # Whether the thread has the consumer, and the signal that it has.
        self._is_waiting = False
        self._handover = threading.Event()
        self._has_records = threading.Event()
        self._filled = 0
        self._failure: SourceError | None = None
        self._is_closed = False
        self._thread: threading.Thread | None = None
        self._most = int(self._source.properties.get("max.poll.records") or _BATCH_MESSAGES)
        # Where partitions end that were read to their end.
        self._ended: dict[Partition, int] = {}
        # By checkpoint: offsets to commit for the group when it is complete.
        self._noted: dict[int, dict[Partition, int]] = {}
        self._commits = {"commitsSucceeded": 0, "commitsFailed": 0}
        self._committed: dict[Partition, int] = {}
        self._ends: dict[Partition, int] = {}
        self._left_out = 0
        self._next_look = 0.0
        self._source.records.open()

    def prepare(self, splits: list[Split]) -> None:
        """Begins to fetch partitions."""
        from confluent_kafka import TopicPartition

        if not splits:
            return
        partitions = []
        for split in splits:
            part: PartitionRange = split.payload
            state = _PartitionState(part, position=part.start, skip=part.skip)
            self._states[split.id] = self._by_partition[part.partition.topic, part.partition.number] = state
            partitions.append(TopicPartition(part.partition.topic, part.partition.number, part.start))
            self._topic = part.partition.topic
        self._has_topics = len({topic for topic, _ in self._by_partition}) > 1
        self._ask(lambda consumer: consumer.incremental_assign(partitions))
        if self._thread is None:
            self._connect()
            self._thread = threading.Thread(target=self._wait, name="funke-kafka-wait", daemon=True)
            self._thread.start()

    def _connect(self) -> Any:
        from confluent_kafka import Consumer

        if self._consumer is None:
            properties = self._source.properties
            prefix = properties.get("client.id.prefix") or properties.get("group.id") or "funke"
            own: dict[str, Any] = {"error_cb": self._on_error, "on_commit": self._on_commit}
            own["client.id"] = properties.get("client.id") or f"{prefix}-{uuid.uuid4().hex[:8]}"
            # A consumer needs a group, whether the user sets one or not.
            own["group.id"] = properties.get("group.id") or own["client.id"]
            reset = properties.get("auto.offset.reset") or self._source.starting.reset
            own["auto.offset.reset"] = _RESETS.get(reset.lower(), "earliest")
            own["enable.auto.commit"] = properties.get("enable.auto.commit", "false")
            own["enable.partition.eof"] = self._source.stopping is not None
            self._consumer = Consumer(properties.consumer(**own), logger=client_logger())
        return self._consumer

    def _ask(self, action: Callable[[Any], object]) -> None:
        """Runs in the thread that owns the consumer: a second caller would block and hold the interpreter lock."""
        self._asked.append(action)

    def _fetch(self, most: int, seconds: float) -> list[Any]:
        """What the client has, by the thread that has the consumer."""
        self._do_what_is_asked()
        self._look_at_ends()
        messages: list[Any] = self._consumer.consume(most, seconds)
        return messages

    def _do_what_is_asked(self) -> None:
        while self._asked:
            self._asked.popleft()(self._consumer)

    # The thread, which waits for the first message when nothing is there

    def _wait(self) -> None:
        while not self._is_closed:
            self._handover.wait()
            self._handover.clear()
            try:
                self._await_first()
            except Exception as error:
                self._fail(SourceError(explain(error, self._source.properties)))
                return

    def _await_first(self) -> None:
        while not self._is_closed:
            messages = self._fetch(1, _SLEEP_S)
            if messages:
                self._arrived.append(messages)
                # From now on the slot's loop fetches by itself: two threads that take turns cost half the speed.
                self._is_waiting = False
                self._tell()
                return

    def _look_at_ends(self) -> None:
        """Takes note, now and then, of what the client has heard about the ends of partitions."""
        from confluent_kafka import KafkaException, TopicPartition

        if time.monotonic() < self._next_look:
            return
        self._next_look = time.monotonic() + _LOOK_S
        for where in [Partition(*partition) for partition in list(self._by_partition)]:
            with contextlib.suppress(KafkaException):
                partition = TopicPartition(where.topic, where.number)
                self._ends[where] = self._consumer.get_watermark_offsets(partition, cached=True)[1]

    def _tell(self) -> None:
        self._has_records.set()
        self.wake()

    def _fail(self, failure: SourceError) -> None:
        self._failure = self._failure or failure
        self._tell()

    def _on_error(self, error: Any) -> None:
        if not is_passing(error):
            self._fail(SourceError(explain(error, self._source.properties)))

    def _on_commit(self, error: Any, partitions: list[Any]) -> None:
        self._commits["commitsSucceeded" if error is None else "commitsFailed"] += 1
        if error is None:
            self._committed |= {
                Partition(partition.topic, partition.partition): partition.offset for partition in partitions
            }

    # The slot's loop

    @property
    def has_more(self) -> bool:
        """Whether a partition has messages, or may have."""
        return self._filled > 0 or bool(self._arrived) or self._failure is not None or not self._is_waiting

    def await_records(self, seconds: float) -> None:
        """Waits until there are messages, or the time is up."""
        if not self.has_more:
            self._has_records.wait(seconds)
        self._has_records.clear()

    def has_records(self, split: Split) -> bool:
        """Whether a partition has something; messages are sorted by partition when all that came before are read."""
        if not self._filled and not self._is_waiting:
            self._take()
        state = self._states[split.id]
        return bool(state.messages) or state.is_ended or self._failure is not None

    def _take(self) -> None:
        """Fetches; when there is nothing, the thread gets the consumer."""
        first = self._arrived.popleft() if self._arrived else []
        try:
            messages = first + self._fetch(self._most, 0)
        except Exception as error:
            self._fail(SourceError(explain(error, self._source.properties)))
            return
        if messages:
            self._sort(messages)
        else:
            self._is_waiting = True
            self._handover.set()

    def _sort(self, messages: list[Any]) -> None:
        """By partition: messages come in long runs of the same one."""
        notes: list[Any] = []
        if any(map(_error, messages)):
            notes = [message for message in messages if message.error() is not None]
            messages = [message for message in messages if message.error() is None]
        for topic, of_topic in groupby(messages, _topic) if self._has_topics else [(self._topic, messages)]:
            for number, run in groupby(of_topic, _partition):
                state = self._by_partition.get((topic, number))
                if state is not None and not state.is_ended:
                    self._filled += not state.messages
                    state.messages += run
        # Behind the messages: a partition has come to its end when they are read.
        for note in notes:
            self._take_note(note)

    def _take_note(self, message: Any) -> None:
        error = message.error()
        if error.name() == "_PARTITION_EOF":
            state = self._by_partition.get((message.topic(), message.partition()))
            if state is not None and state.part.stop is not None and message.offset() >= state.part.stop:
                state.is_ended = True
        elif not is_passing(error):
            where = Partition(message.topic(), message.partition()) if message.topic() else ""
            self._fail(SourceError(explain(error, self._source.properties, str(where))))

    def read(self, split: Split) -> Generator[Batch, None, Any]:
        """Yields what has come of a partition, until its end."""
        if self._source.records.has_columns:
            to_rows = ColumnsToRows(self._source.produced_type)
            for batch in self._columns(split):
                yield to_rows.convert(batch)
            return
        for state, messages in self._batches(split):
            values = read_all(self._source.records, messages)
            if any(map(_is_none, values)):
                kept = [message for message, value in zip(messages, values) if value is not None]
                self._count_left_out(messages, kept)
                messages, values = kept, [value for value in values if value is not None]
            state.batch = messages
            yield values, [message.timestamp()[1] for message in messages]

    def read_columns(self, split: Split) -> Generator[ColumnBatch, None, Any] | None:
        """The same as columns, if the records can be read so."""
        return self._columns(split) if self._source.records.has_columns else None

    def _columns(self, split: Split) -> Generator[ColumnBatch, None, None]:
        for state, messages in self._batches(split):
            batch, state.batch = self._source.records.read_columns(messages)
            if state.batch is not messages:
                self._count_left_out(messages, state.batch)
            # What was read before is a part of the rows of the first message.
            skipped, state.skip = state.skip, 0
            if skipped and messages and messages[0].offset() == state.part.start:
                batch, state.batch = batch.slice(skipped), state.batch[skipped:]
            yield batch

    def _count_left_out(self, messages: list[Any], kept: list[Any]) -> None:
        """Records with a value that nothing came of: errors that are ignored."""
        there = set(map(id, kept))
        self._left_out += sum(id(message) not in there and message.value() is not None for message in messages)

    def _batches(self, split: Split) -> Generator[tuple[_PartitionState, list[Any]], None, None]:
        state = self._states[split.id]
        stop = state.part.stop
        while True:
            if self._failure is not None:
                raise self._failure
            messages, state.messages = state.messages, []
            state.before += len(state.batch)
            state.batch = []
            if messages:
                self._filled -= 1
                state.position = messages[-1].offset() + 1
                if stop is not None and state.position >= stop:
                    messages = [message for message in messages if message.offset() < stop]
                    state.position, state.is_ended = stop, True
            elif state.is_ended:
                break
            yield state, messages
        self._leave(split, state)

    def _leave(self, split: Split, state: _PartitionState) -> None:
        from confluent_kafka import TopicPartition

        where, stop = state.part.partition, state.part.stop
        assert stop is not None
        self._ended[where] = stop
        del self._states[split.id], self._by_partition[where.topic, where.number]
        partitions = [TopicPartition(where.topic, where.number)]
        self._ask(lambda consumer: consumer.incremental_unassign(partitions))

    def rest(self, split: Split, records: int) -> Split | None:
        """What is left of a partition: from which offset on."""
        state = self._states.get(split.id)
        if state is None:
            return None
        return partition_split(state.behind(records))

    # Checkpoints

    def note(self, checkpoint_id: int, rests: list[Split]) -> None:
        """The offsets to commit for the group when a checkpoint is complete."""
        if self._source.commits_offsets:
            rest_offsets = {split.payload.partition: split.payload.start for split in rests}
            self._noted[checkpoint_id] = {**self._ended, **rest_offsets}

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        """Commits the offsets of the checkpoint; what comes later is more recent."""
        from confluent_kafka import TopicPartition

        offsets = self._noted.pop(checkpoint_id, {})
        for older in [number for number in self._noted if number < checkpoint_id]:
            del self._noted[older]
        if offsets and self._consumer is not None:
            partitions = [TopicPartition(each.topic, each.number, offset) for each, offset in offsets.items()]
            self._ask(lambda consumer: consumer.commit(offsets=partitions, asynchronous=True))

    def metrics(self) -> dict[str, Any]:
        """Flink's metrics of a Kafka source: how far it is behind, and where."""
        if self._consumer is not None and not self._is_waiting:
            # Also when the loop does not fetch, because those behind it have no room.
            self._look_at_ends()
        metrics: dict[str, Any] = {**self._commits, "numRecordsInErrors": self._left_out}
        lags = []
        for state in self._states.values():
            where = state.part.partition
            name = f"KafkaSourceReader.topic.{where.topic}.partition.{where.number}"
            metrics[f"{name}.currentOffset"] = state.position - 1
            metrics[f"{name}.committedOffset"] = self._committed.get(where, -1)
            lags.append(max(0, self._ends.get(where, 0) - state.position))
        return {**metrics, "pendingRecords": sum(lags), "records-lag-max": max(lags, default=0)}

    def close(self) -> None:
        """Ends the thread, then the connection."""
        self._is_closed = True
        self._handover.set()
        if self._thread is not None:
            self._thread.join(_JOIN_S)
        if self._consumer is not None:
            # Commits the offsets of the last checkpoint, too.
            with contextlib.suppress(Exception):
                self._do_what_is_asked()
            consumer, self._consumer = self._consumer, None
            consumer.close()


_RESETS = {"latest": "latest", "largest": "latest", "none": "error"}
