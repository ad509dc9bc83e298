"""Exactly once into Kafka: a transaction for each checkpoint and writer, and a copy of what is in it.

The writer sends records within a transaction and keeps a copy of them beside the checkpoints. When the checkpoint is
complete it commits the transaction, in which it has also committed an offset to a group of its own: a marker that says
which of its transactions this was. The client cannot take up the transaction of a process that died. So the
recovery fences that process, looks for the marker, and if it is missing writes the copy in a new transaction.
"""

from __future__ import annotations

import contextlib
import pickle
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from funke.engine.connectors.kafka.failures import explain, is_passing
from funke.engine.connectors.kafka.offsets import OffsetsAsker, Partition
from funke.engine.connectors.kafka.producing import OutputRecords, RecordProducer
from funke.engine.connectors.sink import Committer, SinkWriter, SlotCommit, WriterContext
from funke.engine.connectors.staging import StagedData, UnitWriter
from funke.engine.errors import SinkError

if TYPE_CHECKING:
    from funke.engine.connectors.kafka.sink import KafkaSink
    from funke.engine.types.columns.column_batch import ColumnBatch

__all__ = ["StagingWriter", "TransactionCommitter", "TransactionWriter", "WrittenTransaction"]

# The longest that a broker allows by default; nothing is lost when it is over.
_DEFAULT_TIMEOUT_MS = "900000"
_CALL_S, _FIRST_S = 60.0, 3.0
_MARK_S, _GRACE_S = 15.0, 5.0
# How long brokers may be away meanwhile, and how often they are asked whether they are there.
_OUTAGE_S, _ASK_S = 300.0, 1.0
# How long the end of a job waits for writers to commit, before it does so for them.
_AWAIT_S = 30.0
_LOOK_S = 0.02


@dataclass(frozen=True)
class WrittenTransaction(SlotCommit):
    """A transaction that has been written and waits for its commit."""

    # Its own id first, then the others that its writer has.
    transactional_ids: tuple[str, ...]
    group: str
    topic: str
    number: int
    staged: StagedData
    is_awaited: bool = False

    def inlined(self) -> WrittenTransaction:
        return replace(self, staged=self.staged.inlined() if self.staged.is_there else self.staged)

    def awaited(self) -> WrittenTransaction:
        return replace(self, is_awaited=True)

    @property
    def partition(self) -> Partition:
        """Where its marker stands."""
        return Partition(self.topic, 0)


def _ids(sink: KafkaSink, operator_id: str, subtask: int) -> Iterator[str]:
    """The names of a writer's transactions: the same in every attempt, so that a new one shuts out the old ones."""
    number = 0
    while True:
        yield f"{sink.transactional_id_prefix}-{operator_id}-{subtask}-{number}"
        number += 1


class TransactionalProducer(RecordProducer):
    """A producer with a transactional id; earlier producers with that id are fenced."""

    def __init__(self, sink: KafkaSink, transactional_id: str) -> None:
        properties = sink.properties
        if properties.get("transaction.timeout.ms") is None:
            properties = properties.with_(transaction_timeout_ms=_DEFAULT_TIMEOUT_MS)
        self.id = transactional_id
        own: dict[str, Any] = {"transactional.id": transactional_id, "enable.idempotence": True}
        super().__init__(properties, **own)
        # In short steps, so that a rejected client fails early.
        self._call(self.client.init_transactions, _FIRST_S)

    def begin(self) -> None:
        """Begins a transaction."""
        self._call(lambda seconds: self.client.begin_transaction())

    def mark(self, partition: Partition, number: int, group: Any) -> None:
        """Puts a marker into the transaction."""
        from confluent_kafka import TopicPartition

        offsets = [TopicPartition(partition.topic, partition.number, number + 1)]
        send = partial(self.client.send_offsets_to_transaction, offsets, group, _MARK_S)
        self._call(lambda seconds: self._within(_MARK_S, send))

    def take_loss(self) -> bool:
        """Whether brokers could not be reached since the last time that this was asked."""
        has_lost, self._has_lost_brokers = self._has_lost_brokers, False
        return has_lost

    def _within(self, seconds: float, call: Callable[[], object]) -> None:
        """Calls in a thread of its own, which is left behind when it takes too long although there are brokers.

        The client (librdkafka 2.16) waits without end here, despite a timeout, for a coordinator that it takes for
        away.
        """
        failures: list[Exception] = []

        def run() -> None:
            try:
                call()
            except Exception as error:
                failures.append(error)

        thread = threading.Thread(target=run, name="funke-kafka-mark", daemon=True)
        thread.start()
        left_s, end = seconds + _GRACE_S, time.monotonic() + _OUTAGE_S
        while thread.is_alive() and left_s > 0 and time.monotonic() < end:
            thread.join(_ASK_S)
            if thread.is_alive() and self._has_brokers():
                left_s -= _ASK_S
        if thread.is_alive():
            servers = self._properties.get("bootstrap.servers")
            raise SinkError(
                f"Kafka's client does not come back from marking the transaction of '{self.id}' at '{servers}'; "
                "another one writes it again when the job restarts"
            )
        if failures:
            raise failures[0]

    def _has_brokers(self) -> bool:
        from confluent_kafka import KafkaException

        try:
            return bool(self.client.list_topics(timeout=_ASK_S).brokers)
        except KafkaException:
            return False

    def commit(self) -> None:
        """Makes the transaction visible."""
        self._call(self.client.commit_transaction)

    def abort(self) -> None:
        """Gives the transaction up, if the brokers can be reached."""
        from confluent_kafka import KafkaException

        with contextlib.suppress(KafkaException):
            self.client.purge()
            self.client.abort_transaction(5.0)

    def _call(self, call: Callable[[float], object], seconds: float = _CALL_S) -> None:
        """Calls until it has worked, which may take so long each time; the client says what can be tried again."""
        from confluent_kafka import KafkaException

        end = time.monotonic() + 2 * _CALL_S
        while True:
            try:
                call(seconds)
                return
            except KafkaException as error:
                cause = error.args[0]
                is_worth_it = is_passing(cause) and not cause.txn_requires_abort()
                if not is_worth_it or time.monotonic() > end:
                    about = f"the transactional id '{self.id}'"
                    raise SinkError(explain(cause, self._properties, about)) from error
                self.client.poll(_LOOK_S)
                # A wrong password is not tried again.
                self.check()


def _group_metadata(sink: KafkaSink, group: str) -> Any:
    """What says for which group an offset is committed within a transaction."""
    from confluent_kafka import Consumer

    consumer = Consumer(sink.properties.admin(**{"group.id": group, "log_level": 0}))
    try:
        return consumer.consumer_group_metadata()
    finally:
        consumer.close()


@dataclass
class _Waiting:
    """A transaction of this writer that waits for its commit."""

    producer: TransactionalProducer
    written: WrittenTransaction
    # With which checkpoint it is committed; None for the last one.
    checkpoint_id: int | None


class _StagedWriter(SinkWriter):
    """Keeps a copy of everything."""

    def __init__(self, sink: KafkaSink, context: WriterContext) -> None:
        self._sink = sink
        self._records = sink.records
        self._unit_writer = UnitWriter(context)
        self._ids = _ids(sink, context.operator_id, context.subtask)
        # Of the markers.
        self._group = (
            f"{sink.transactional_id_prefix}-{context.operator_id}-{context.job_id}-{context.attempt}-{context.subtask}"
        )
        self._topic: str | None = None

    def write(self, values: list[Any], timestamps: list[int] | None) -> None:
        self._take(self._records.records(values, timestamps))

    def write_columns(self, batch: ColumnBatch) -> None:
        self._take(self._records.records_of(batch))

    def _take(self, records: OutputRecords) -> None:
        if records.values:
            self._topic = self._topic or next(iter(records.topics))
            self._unit_writer.add(pickle.dumps(tuple(records), pickle.HIGHEST_PROTOCOL))

    def _stage(self, ids: tuple[str, ...]) -> WrittenTransaction | None:
        topic, self._topic = self._topic, None
        staged = self._unit_writer.finish()
        if staged is None:
            return None
        assert topic is not None
        return WrittenTransaction(ids, self._group, topic, staged.number, staged)

    def close(self) -> None:
        self._unit_writer.discard()


class StagingWriter(_StagedWriter):
    """In epochs: nothing is sent before the driver commits, because nothing would notify the writer in time."""

    def __init__(self, sink: KafkaSink, context: WriterContext) -> None:
        super().__init__(sink, context)
        self._id = next(self._ids)
        TransactionalProducer(sink, self._id).close()

    def prepare_commit(self) -> list[Any]:
        written = self._stage((self._id,))
        return [] if written is None else [written.awaited()]


class TransactionWriter(_StagedWriter):
    """Sends records within transactions; the next one begins while the last waits for its commit."""

    def __init__(self, sink: KafkaSink, context: WriterContext) -> None:
        super().__init__(sink, context)
        self._first_group, self._groups = self._group, 1
        self._metadata = _group_metadata(sink, self._group)
        # Two are enough while checkpoints complete in time; those of an attempt before are shut out here.
        self._free = [TransactionalProducer(sink, next(self._ids)) for _ in range(2)]
        self._all = [producer.id for producer in self._free]
        self._current: TransactionalProducer | None = None
        self._waiting: list[_Waiting] = []
        self._checkpoint_id: int | None = None
        self._has_ended = False

    def _take(self, records: OutputRecords) -> None:
        super()._take(records)
        if records.values:
            if self._current is None:
                self._current = self._begin()
            self._current.send(records)

    def _begin(self) -> TransactionalProducer:
        if not self._free:
            self._free.append(TransactionalProducer(self._sink, next(self._ids)))
            self._all.append(self._free[-1].id)
        producer = self._free.pop(0)
        producer.begin()
        return producer

    def flush(self, end_of_input: bool) -> None:
        self._has_ended = self._has_ended or end_of_input
        if self._current is not None:
            self._current.client.poll(0)
            self._current.check()

    def prepare_snapshot(self, checkpoint_id: int) -> None:
        self._checkpoint_id = checkpoint_id

    def prepare_commit(self) -> list[Any]:
        """Finishes the transaction, and names all that wait: only those that the driver knows of survive this slot."""
        if self._current is not None:
            producer, self._current = self._current, None
            producer.flush()
            if producer.take_loss():
                self._change_group()
            others = [name for name in self._all if name != producer.id]
            written = self._stage((producer.id, *others))
            assert written is not None
            producer.mark(written.partition, written.number, self._metadata)
            number = None if self._has_ended else self._checkpoint_id
            self._waiting.append(_Waiting(producer, written, number))
        return [each.written for each in self._waiting]

    def _change_group(self) -> None:
        """Puts markers into another group from now on.

        The client remembers who coordinates a group. When that broker goes away it may wait for it for ever, although
        another one, or the same one after it was started again, has taken its place; for a new group it asks.
        """
        self._group = f"{self._first_group}-{self._groups}"
        self._groups += 1
        self._metadata = _group_metadata(self._sink, self._group)

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        """Commits what the checkpoint and those before it hold."""
        while self._waiting and self._is_covered(self._waiting[0], checkpoint_id):
            done = self._waiting[0]
            done.producer.commit()
            self._waiting.pop(0)
            self._free.append(done.producer)
            done.written.staged.delete()

    def _is_covered(self, waiting: _Waiting, checkpoint_id: int) -> bool:
        return self._has_ended if waiting.checkpoint_id is None else waiting.checkpoint_id <= checkpoint_id

    @property
    def awaits_commit(self) -> bool:
        """Whether transactions wait."""
        return bool(self._waiting)

    def close(self) -> None:
        """Gives up what is open; pending transactions are left to the recovery."""
        super().close()
        if self._current is not None:
            self._current.abort()


class TransactionCommitter(Committer):
    """Sees to it that transactions are committed when their writers cannot do it."""

    def __init__(self, sink: KafkaSink) -> None:
        self._sink = sink

    def commit(self, committables: list[Any]) -> None:
        """Writers commit by themselves; at the end of a job they are waited for."""
        awaited = [each for each in committables if each.is_awaited]
        if not awaited:
            return
        asker = OffsetsAsker(self._sink.properties)
        end = time.monotonic() + _AWAIT_S
        # In epochs there is nothing to wait for.
        while self._is_left_to_slots(awaited) and not self._are_there(asker, awaited) and time.monotonic() < end:
            time.sleep(_LOOK_S)
        self.recover(0, [each for each in awaited if not self._are_there(asker, [each])])

    def _is_left_to_slots(self, transactions: list[WrittenTransaction]) -> bool:
        return any(len(each.transactional_ids) > 1 for each in transactions)

    def _are_there(self, asker: OffsetsAsker, transactions: list[WrittenTransaction]) -> bool:
        return all(_is_committed(asker, each) for each in transactions)

    def recover(self, epoch: int, committables: list[Any]) -> None:
        """Shuts out the writers, then writes what they have not committed."""
        if not committables:
            return
        asker = OffsetsAsker(self._sink.properties)
        names = dict.fromkeys(name for each in committables for name in each.transactional_ids)
        producers = {name: TransactionalProducer(self._sink, name) for name in names}
        for written in committables:
            if not _is_committed(asker, written):
                self._write(producers[written.transactional_ids[0]], written)
            written.staged.delete()

    def _write(self, producer: TransactionalProducer, written: WrittenTransaction) -> None:
        producer.begin()
        try:
            for chunk in written.staged.chunks():
                producer.send(OutputRecords(*pickle.loads(chunk)))
            producer.flush()
            producer.mark(written.partition, written.number, _group_metadata(self._sink, written.group))
            producer.commit()
        except BaseException:
            producer.abort()
            raise


def _is_committed(asker: OffsetsAsker, written: WrittenTransaction) -> bool:
    offset, _ = asker.marks(written.group, [written.partition]).get(written.partition, (0, ""))
    return offset > written.number
