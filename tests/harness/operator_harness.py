"""Runs one operator without Spark: a test feeds it records, watermarks and time, and sees everything that comes out."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from funke.engine.graph.operations import Operation
from funke.engine.graph.state_meaning import StateMoves
from funke.engine.operators.factory import create_operator
from funke.engine.operators.operator import (
    MAX_WATERMARK,
    Operator,
    OperatorContext,
    Output,
    TaskInfo,
)
from funke.engine.operators.time.clock import ManualClock
from funke.engine.state.backend_choice import BackendChoice
from funke.engine.state.operator_state import share_of
from funke.engine.types.columns.column_batch import ColumnBatch
from funke.engine.types.driver_messages import DriverMessage
from funke.engine.types.information.type_information import TypeInformation
from funke.engine.types.operator_location import OperatorLocation
from funke.engine.types.output_tag import OutputTag
from tests.harness.backends import choice_of

# A whole run can be made with another backend, to see that it makes no difference.
DEFAULT_BACKEND = os.environ.get("FUNKE_TEST_BACKEND", "hashmap")


@dataclass(frozen=True)
class Record:
    """A record that came out."""

    value: Any
    timestamp: int | None = None


@dataclass(frozen=True)
class Watermark:
    """A watermark that came out."""

    timestamp: int


@dataclass(frozen=True)
class Status:
    """The stream fell idle, or became active again."""

    is_idle: bool


@dataclass
class Recorder:
    """The end of a wire: keeps what it is sent."""

    elements: list[Any] = field(default_factory=list)
    takes_rows: bool = True
    takes_columns: bool = False
    wants_columns: bool = False

    def process_columns(self, batch: ColumnBatch) -> None:
        self.elements.append(batch)

    def process_batch(self, values: list[Any], timestamps: list[int] | None) -> None:
        stamps = timestamps if timestamps is not None else [None] * len(values)
        assert len(stamps) == len(values)
        self.elements.extend(Record(value, stamp) for value, stamp in zip(values, stamps, strict=True))

    def process_watermark(self, watermark: int) -> None:
        self.elements.append(Watermark(watermark))

    def process_status(self, is_idle: bool) -> None:
        self.elements.append(Status(is_idle))


class OperatorHarness:
    """One subtask of one operator, with a clock that the test moves."""

    def __init__(
        self,
        operation: Operation,
        *,
        parallelism: int = 1,
        max_parallelism: int = 128,
        subtask: int = 0,
        clock: ManualClock | None = None,
        is_batch: bool = False,
        side_outputs: tuple[OutputTag, ...] = (),
        job_parameters: dict[str, str] | None = None,
        auto_watermark_interval_ms: int = 200,
        wake: Callable[[], None] | None = None,
        input_type: TypeInformation | None = None,
        restored: list[bytes] | None = None,
        backend: BackendChoice | None = None,
        before_open: Callable[[Operator], Any] | None = None,
        keeps_columns: bool = False,
        moves: StateMoves | None = None,
    ) -> None:
        self.clock = clock or ManualClock()
        self._moves = moves
        self.sent_to_driver: list[DriverMessage] = []
        self.task = TaskInfo(
            job_id="job-1",
            task_name="task",
            subtask=subtask,
            parallelism=parallelism,
            max_parallelism=max_parallelism,
            is_batch=is_batch,
            backend=backend or choice_of(DEFAULT_BACKEND),
            auto_watermark_interval_ms=auto_watermark_interval_ms,
            job_parameters=job_parameters or {},
            clock=self.clock,
            send_to_driver=self.sent_to_driver.append,
            # Whoever can be woken is in no epoch.
            has_epochs=wake is None,
            wake=wake or (lambda: None),
        )
        self.recorder = Recorder(takes_rows=not keeps_columns, takes_columns=keeps_columns)
        self.sides = {tag.tag_id: Recorder() for tag in side_outputs}
        output = Output()
        output.connect(self.recorder, OperatorLocation("recorder"))
        for tag_id, recorder in self.sides.items():
            output.connect(recorder, OperatorLocation(tag_id), tag_id)
        self.operator: Operator = create_operator(operation, self.task)
        self.operator.setup(OperatorContext(self.task, "operator", "op-1", output, input_type))
        if before_open is not None:
            before_open(self.operator)
        self._checkpoints = 0
        if restored:
            self._restore(restored)
        self.operator.open()
        self._handlers = {index: self.operator.input_handler(index) for index in (0, 1) if self._has_input(index)}

    def _has_input(self, index: int) -> bool:
        try:
            self.operator.input_handler(index)
        except (IndexError, KeyError):
            return False
        return True

    def process(self, value: Any, timestamp: int | None = None, input_index: int = 0) -> None:
        """One record, as a batch of its own."""
        self.process_batch([value], None if timestamp is None else [timestamp], input_index)

    def process_batch(self, values: list[Any], timestamps: list[int] | None = None, input_index: int = 0) -> None:
        """One batch."""
        self._handlers[input_index](values, timestamps)

    def watermark(self, timestamp: int) -> None:
        """Event time advances."""
        self.operator.process_watermark(timestamp)

    def set_processing_time(self, now_ms: int) -> None:
        """Moves the clock, and gives the operator its turn if it asked for one by then."""
        self.clock.set(now_ms)
        wakeup = self.operator.next_wakeup_ms()
        if wakeup is not None and wakeup <= now_ms:
            self.operator.on_processing_time(now_ms)

    def end_epoch(self) -> None:
        """The records of the epoch have been processed."""
        self.operator.end_epoch()

    def end_input(self) -> None:
        """The end of a bounded stream: the last watermark, then the end."""
        self.operator.process_watermark(MAX_WATERMARK)
        self.operator.end_input()

    def close(self) -> None:
        """The end of the subtask."""
        self.operator.close()

    def elements(self) -> list[Any]:
        """Everything that came out of the main output since the last call, watermarks included."""
        outputs, self.recorder.elements = self.recorder.elements, []
        return outputs

    def outputs(self) -> list[Any]:
        """The values that came out of the main output since the last call."""
        return [element.value for element in self.elements() if isinstance(element, Record)]

    def timed_outputs(self) -> list[tuple[Any, int | None]]:
        """Values and timestamps that came out of the main output since the last call."""
        return [(element.value, element.timestamp) for element in self.elements() if isinstance(element, Record)]

    def side_output(self, tag: OutputTag) -> list[Any]:
        """The values that came out of a side output since the last call."""
        recorder = self.sides[tag.tag_id]
        outputs, recorder.elements = recorder.elements, []
        return [element.value for element in outputs if isinstance(element, Record)]

    def snapshot(self) -> bytes:
        """Everything the subtask would have to know after a restart."""
        self._checkpoints += 1
        self.operator.prepare_snapshot(self._checkpoints)
        keyed = list(self.operator.snapshot_keyed())
        return pickle.dumps((keyed, self.operator.snapshot(), self.task.subtask, self.task.parallelism))

    def _restore(self, snapshots: list[bytes]) -> None:
        # As after a change of parallelism: each subtask takes the key groups that are its own.
        task = self.task
        loaded = [pickle.loads(snapshot) for snapshot in snapshots]
        for keyed, _, _, _ in loaded:
            own = (part for part in keyed if part[0] * task.parallelism // task.max_parallelism == task.subtask)
            if self._moves:
                own = ((group, self.operator.moved(part, self._moves)) for group, part in own)
            self.operator.restore_keyed(own)
        others = {subtask: own for _, own, subtask, _ in loaded if own is not None}
        if others:
            share = share_of(others, loaded[0][3], task.subtask, task.parallelism)
            if share is not None:
                self.operator.restore(share)
