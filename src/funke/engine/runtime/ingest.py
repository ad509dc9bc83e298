"""The ingest task: reads the splits of one source subtask and runs the pure head of its chain over them."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from funke.engine.connectors.source import Batch, ReadOutcome, Split
from funke.engine.errors import SerializationError
from funke.engine.graph.operations import ReadSource
from funke.engine.operators.chain import Exit, OperatorChain
from funke.engine.operators.factory import create_operator
from funke.engine.operators.operator import Operator, OperatorFailure, Output, TaskInfo
from funke.engine.operators.slice_pacer import SlicePacer
from funke.engine.operators.timestamps import SplitWatermarks
from funke.engine.planner.segments import Exchange, Plan, Segment
from funke.engine.runtime.block_codec import decode, encode
from funke.engine.runtime.fault_points import reach
from funke.engine.runtime.frames import RESULT, Frame
from funke.engine.runtime.results import DriverMessage, IngestReport, to_failure
from funke.engine.runtime.router import Router, create_router
from funke.engine.runtime.worker_logs import LOG_CHANNEL, worker_logs
from funke.engine.runtime.worker_setup import JobPackage, unpack
from funke.engine.types.columns.column_batch import ColumnBatch
from funke.engine.types.columns.edge_forms import EdgeForms
from funke.engine.types.watermark_spec import WatermarkSpec


@dataclass(frozen=True)
class IngestOrder:
    """What one ingest task has to do in this epoch."""

    segment_id: int
    subtask: int
    splits: tuple[Split, ...]
    carry: bytes | None
    is_final: bool
    # By position in `splits`: records that an earlier epoch has read already; none when left out.
    skips: tuple[int, ...] = ()
    # Stop reading after so long; what is left is for the next epoch.
    deadline_ms: int | None = None
    # These are the last splits of the source: once they are read, it holds back event time no longer.
    is_over: bool = False
    # After a restart the receivers have forgotten the source's event time: it had come this far.
    restored_watermark: int | None = None


def run_ingest(package: JobPackage, order: bytes, read_batches: Iterator[Any] | None = None) -> Iterator[Frame]:
    """Yields the blocks that an encoded order produces, then its report and what was logged meanwhile.

    A failure becomes a row, not a failed Spark task. The order is decoded only once the user's classes are there.
    """
    with worker_logs.installed(package.log_levels):
        yield from _run(package, order, read_batches)
        lines = worker_logs.take()
    if lines:
        yield _result(DriverMessage(LOG_CHANNEL, 0, lines))


def _run(package: JobPackage, order: bytes, read_batches: Iterator[Any] | None) -> Iterator[Frame]:
    outbox: list[Frame] = []
    slot: int | None = None
    try:
        ingest = _Ingest(unpack(package, for_ingest=True), package, decode(order), outbox)
        slot = ingest.slot
        reach("before-ingest")
        for _ in ingest.run(read_batches):
            yield from outbox
            outbox.clear()
        yield from outbox
        reach("after-ingest")
    except Exception as error:
        yield _result(to_failure(error, slot))


def _result(content: Any) -> Frame:
    return Frame(0, RESULT, 0, encode(content))


class _Ingest:
    def __init__(self, plan: Plan, package: JobPackage, order: IngestOrder, outbox: list[Frame]) -> None:
        self._order = order
        self._outbox = outbox
        self._segment = plan.by_id[order.segment_id]
        operation = self._segment.operators[0].operation
        assert isinstance(operation, ReadSource)
        self._reader = operation.source
        task = self._task_info(package)
        self._routers, exits = make_exits(plan, self._segment, order.subtask, outbox)
        self._chain = OperatorChain(self._segment.operators, exits, task, create_operator)
        self._source_output: Output = self._chain.outputs[self._segment.operators[0].node_id]
        self._watermarks = SplitWatermarks(
            operation.watermarks or WatermarkSpec(),
            task,
            self._source_output,
            EdgeForms(self._segment.operators[0].output_type),
        )
        self._pacer = SlicePacer()
        # How long the epoch may still take.
        self._left_s = math.inf
        self._records = 0
        self._has_read = False
        self._is_idle = False
        self._restore()
        self._chain.open()
        if order.restored_watermark is not None:
            self._is_idle = False
            self._watermarks.announce(order.restored_watermark)
            announce_event_time(self._chain)

    @property
    def slot(self) -> int:
        """The slot of the subtask."""
        return self._segment.first_slot + self._order.subtask

    def _task_info(self, package: JobPackage) -> TaskInfo:
        return TaskInfo(
            job_id=package.job_id,
            job_name=package.job_name,
            task_name=self._segment.name,
            subtask=self._order.subtask,
            parallelism=self._segment.parallelism,
            max_parallelism=self._segment.max_parallelism,
            attempt=package.attempt,
            is_batch=package.is_batch,
            auto_watermark_interval_ms=package.auto_watermark_interval_ms,
            job_parameters=dict(package.job_parameters),
            send_to_driver=self._send_to_driver,
        )

    def _send_to_driver(self, channel: str, payload: Any) -> None:
        self._outbox.append(_result(DriverMessage(channel, self._order.subtask, payload)))

    def _restore(self) -> None:
        if self._order.carry is None:
            return
        watermark_state, operator_states, counts, self._has_read, self._is_idle = decode(self._order.carry)
        self._watermarks.restore(watermark_state)
        for node_id, state in operator_states.items():
            self._chain.operators[node_id].restore(state)
        for node_id, (records_in, records_out, watermark) in counts.items():
            output = self._chain.outputs[node_id]
            output.records_out, output.current_watermark = records_out, watermark
            if node_id in self._chain.operators:
                self._chain.operators[node_id].records_in = records_in

    def _counts(self) -> dict[int, tuple[int, int, int]]:
        """What operators have counted so far: each epoch makes new ones."""
        counted = {node_id: operator.records_in for node_id, operator in self._chain.operators.items()}
        return {
            node_id: (counted.get(node_id, 0), output.records_out, output.current_watermark)
            for node_id, output in self._chain.outputs.items()
        }

    def run(self, read_batches: Iterator[Any] | None) -> Iterator[None]:
        """Does the work; yields whenever the outbox may be emptied."""
        started = time.perf_counter()
        outcomes: list[ReadOutcome] = []
        expects_records = getattr(self._reader, "is_never_idle", False)
        self._has_read = self._has_read or bool(self._order.splits) or read_batches is not None or expects_records
        self._set_idle(not self._has_read or getattr(self._reader, "is_always_idle", False))
        for split in self._order.splits:
            if not split.is_last:
                self._watermarks.register(split.id)
        if self._order.deadline_ms is not None and not getattr(self._reader, "reads_whole_splits", False):
            self._left_s = self._order.deadline_ms / 1000
        for position, split in enumerate(self._order.splits):
            skip = self._order.skips[position] if self._order.skips else 0
            if self._left_s < 0:
                outcomes.append(ReadOutcome(split, skip, is_complete=False))
                continue
            rest = self._reader.behind(split, skip)
            if rest is None:
                yield from self._read(split, self._batches(split), outcomes, skip)
            else:
                yield from self._read(split, self._batches(rest), outcomes, skip, skip)
        if read_batches is not None:
            split = Split("spark", None, is_last=False)
            yield from self._read(split, read_batches, outcomes)
        self._finish(outcomes)
        for router in self._routers:
            router.flush()
        report = self._report(outcomes, (time.perf_counter() - started) * 1000)
        self._chain.close()
        self._outbox.append(_result(report))
        yield

    def _batches(self, split: Split) -> Iterator[Any]:
        """The records of a split, as columns if somebody wants them so and the reader can."""
        columns = self._reader.read_columns(split) if self._source_output.wants_columns else None
        batches: Iterator[Any] = self._reader.read(split) if columns is None else columns
        return batches

    def _set_idle(self, is_idle: bool) -> None:
        """A subtask that never had anything to read must not hold back event time."""
        if is_idle != self._is_idle:
            self._is_idle = is_idle
            for router in self._routers:
                router.process_status(is_idle)

    def _read(
        self,
        split: Split,
        batches: Iterator[Any],
        outcomes: list[ReadOutcome],
        skip: int = 0,
        position: int = 0,
    ) -> Iterator[None]:
        """Reads a split whose batches begin at a position, and processes what comes behind the records to skip."""
        self._watermarks.start_split(split.id)
        result = None
        iterator = iter(batches)
        counts_reading = getattr(self._reader, "goes_on_anywhere", False)
        while True:
            began = time.perf_counter()
            try:
                batch = next(iterator)
            except StopIteration as end:
                result = end.value
                break
            except OperatorFailure:
                raise
            except (Exception, SystemExit) as cause:
                head = self._segment.operators[0]
                raise OperatorFailure(head.name, head.user_line) from cause
            known = min(skip - position, _length(batch))
            if known > 0:
                position += known
                batch = _behind(batch, known)
            # What was read slowly and would have to be read again is processed all the same.
            began = began if counts_reading else time.perf_counter()
            for records in self._process(batch):
                position += records
                self._records += records
                now = time.perf_counter()
                self._left_s -= now - began
                began = now
                if self._left_s < 0:
                    outcomes.append(ReadOutcome(split, position, is_complete=False))
                    return
            yield
        if split.is_last:
            self._watermarks.end_split(split.id)
        outcomes.append(ReadOutcome(split, position, result))

    def _process(self, batch: Batch | ColumnBatch) -> Iterator[int]:
        """Processes a batch in slices; yields how many records each had."""
        if isinstance(batch, ColumnBatch):
            for piece in self._pacer.column_slices(batch):
                self._watermarks.process_columns(piece)
                yield len(piece)
            return
        for values, timestamps in self._pacer.slices(*batch):
            self._watermarks.process_batch(values, timestamps)
            yield len(values)

    def _finish(self, outcomes: list[ReadOutcome]) -> None:
        if self._order.is_final:
            self._watermarks.end_input()
            self._chain.end_epoch()
            self._chain.end_input()
        elif self._order.is_over and all(outcome.is_complete for outcome in outcomes):
            self._watermarks.end_input()
            self._chain.end_epoch()
        elif self._has_read:
            self._watermarks.end_epoch()
            self._chain.end_epoch()

    def _report(self, outcomes: list[ReadOutcome], busy_ms: float) -> IngestReport:
        states = {
            node_id: state
            for node_id, operator in self._chain.operators.items()
            if (state := operator.snapshot()) is not None
        }
        # The payload of a split may be large (a piece of a collection); the driver has it already.
        slim = tuple(replace(outcome, split=replace(outcome.split, payload=None)) for outcome in outcomes)
        return IngestReport(
            self._order.segment_id,
            self._order.subtask,
            slim,
            encode((self._watermarks.snapshot(), states, self._counts(), self._has_read, self._is_idle)),
            self._source_output.current_watermark,
            self._is_idle,
            self._records,
            busy_ms,
            _earliest(self._watermarks.next_wakeup_ms(), self._chain.next_wakeup_ms()),
            {
                self._segment.operators[0].node_id: self._source_metrics(),
                **{node_id: operator_metrics(operator) for node_id, operator in self._chain.operators.items()},
            },
        )

    def _source_metrics(self) -> dict[str, Any]:
        output = self._source_output
        return {"numRecordsOut": output.records_out, "currentOutputWatermark": output.current_watermark}


def _length(batch: Batch | ColumnBatch) -> int:
    return len(batch) if isinstance(batch, ColumnBatch) else len(batch[0])


def _behind(batch: Batch | ColumnBatch, records: int) -> Batch | ColumnBatch:
    """A batch without its first records."""
    if isinstance(batch, ColumnBatch):
        return batch.slice(records)
    values, timestamps = batch
    return values[records:], None if timestamps is None else timestamps[records:]


def announce_event_time(chain: OperatorChain) -> None:
    """After a restart: operators that make watermarks tell those behind them where they stand."""
    for operator in chain.operators.values():
        announce = getattr(operator, "announce", None)
        if announce is not None:
            announce()


def operator_metrics(operator: Operator) -> dict[str, Any]:
    """What an operator tells about itself."""
    return operator.metrics()


def _earliest(*times: int | None) -> int | None:
    return min((moment for moment in times if moment is not None), default=None)


def make_exits(plan: Plan, segment: Segment, subtask: int, outbox: list[Frame]) -> tuple[list[Router], list[Exit]]:
    """The routers of one sending subtask, and the exits of its chain that lead to them; blocks go to the outbox."""
    routers, exits = [], []
    for exchange in plan.outputs_of(segment.id):
        router = _make_router(plan, segment, exchange, subtask, outbox)
        receiver = plan.by_id[exchange.target_segment].operators[0]
        tag_id = exchange.tag.tag_id if exchange.tag else None
        routers.append(router)
        edge_type = plan.type_of(exchange)
        exits.append(Exit(exchange.source_node, tag_id, router, receiver.name, receiver.user_line, edge_type))
    return routers, exits


def _make_router(plan: Plan, segment: Segment, exchange: Exchange, subtask: int, outbox: list[Frame]) -> Router:
    target = plan.by_id[exchange.target_segment]
    sender = next(operator for operator in segment.operators if operator.node_id == exchange.source_node)

    def send(receiver: int, parts: list[Any]) -> int:
        try:
            payload = encode(parts)
        except SerializationError as cause:
            raise OperatorFailure(sender.name, sender.user_line) from cause
        outbox.append(Frame(target.first_slot + receiver, exchange.id, subtask, payload))
        return len(payload)

    return create_router(
        exchange.partitioner,
        subtask,
        segment.parallelism,
        target.parallelism,
        target.max_parallelism,
        send,
        EdgeForms(plan.type_of(exchange), wants_columns=target.operators[0].takes_columns),
    )
