"""Builds the operators of a segment and wires them: each operator's output leads to the next ones and to the exits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from funke.engine.graph.job_graph import ChainedOperator
from funke.engine.graph.operations import ReadSplits
from funke.engine.operators.operator import Operator, OperatorContext, OperatorFailure, Output, Target, TaskInfo
from funke.engine.operators.turn import turn
from funke.engine.operators.type_watch import TypeWatch
from funke.engine.state.snapshot.file_format import GroupPart
from funke.engine.types.information.type_information import TypeInformation
from funke.engine.types.operator_location import OperatorLocation

T = TypeVar("T")


@dataclass(frozen=True)
class Exit:
    """A way out of the segment: from a node's main output, or from its side output `tag_id`.

    Name, line and id are those of the operator it leads to: the key selector that runs at the exit is its own.
    """

    node_id: int
    tag_id: str | None
    target: Target
    name: str
    user_line: str | None = None
    operator_id: str = ""
    # What the records are.
    edge_type: TypeInformation | None = None


class OperatorChain:
    """The live operators of one subtask of a segment, in topological order."""

    def __init__(
        self,
        specs: tuple[ChainedOperator, ...],
        exits: Iterable[Exit],
        task: TaskInfo,
        create: Callable[[Any, TaskInfo], Operator],
    ) -> None:
        self.specs = specs
        self.outputs = {spec.node_id: _output_of(spec, task) for spec in specs}
        self.operators: dict[int, Operator] = {}
        self.locations = {spec.node_id: spec.location(task.vertex_id, task.subtask) for spec in specs}
        self._numbers = {node_id: turn.number_of(location) for node_id, location in self.locations.items()}
        self._is_closed = False
        for spec in specs:
            operator = create(spec.operation, task)
            operator.setup(
                OperatorContext(
                    task,
                    spec.name,
                    spec.operator_id,
                    self.outputs[spec.node_id],
                    spec.input_type,
                    spec.user_line,
                )
            )
            self.operators[spec.node_id] = operator
            if spec.fed_by is not None:
                tag_id = spec.fed_by_tag.tag_id if spec.fed_by_tag is not None else None
                self.outputs[spec.fed_by].connect(operator, self.locations[spec.node_id], tag_id, spec.input_type)
        for way_out in exits:
            receiver = OperatorLocation(
                way_out.name, way_out.user_line, way_out.operator_id, task.vertex_id, task.subtask
            )
            self.outputs[way_out.node_id].connect(way_out.target, receiver, way_out.tag_id, way_out.edge_type)

    @property
    def head(self) -> Operator:
        """The operator that takes the segment's input."""
        return self.operators[self.specs[0].node_id]

    def open(self) -> None:
        """Opens the operators from the last to the first, so that nothing is sent to an unopened one."""
        for spec in reversed(self.specs):
            self._guarded(spec, self.operators[spec.node_id].open)

    def end_epoch(self) -> None:
        """Tells every operator, in order, that the epoch's input is complete."""
        self._in_order(lambda operator: operator.end_epoch)

    def flush(self) -> None:
        """Leaves nothing in a buffer of a sink's."""
        self._in_order(lambda operator: operator.flush)

    def end_input(self) -> None:
        """Tells every operator, in order, that there is no more input."""
        self._in_order(lambda operator: operator.end_input)

    def on_processing_time(self, now_ms: int) -> None:
        """Lets every operator, in order, act on the time."""
        self._in_order(lambda operator: lambda: operator.on_processing_time(now_ms))

    def next_wakeup_ms(self) -> int | None:
        """The earliest time any operator waits for."""
        if self._is_closed:
            return None
        times = [operator.next_wakeup_ms() for operator in self.operators.values()]
        return min((time for time in times if time is not None), default=None)

    @property
    def has_unfinished(self) -> bool:
        """Whether any operator still works on records."""
        return not self._is_closed and any(operator.has_unfinished for operator in self.operators.values())

    def release_waiting(self) -> None:
        """Lets every operator, in order, process records that wait for more."""
        self._in_order(lambda operator: operator.release_waiting)

    def prepare_snapshot(self, checkpoint_id: int) -> None:
        """A checkpoint begins: lets every operator, in order, settle what a snapshot cannot do without side effects."""
        self._in_order(lambda operator: lambda: operator.prepare_snapshot(checkpoint_id))

    def snapshot(self) -> dict[str, Any]:
        """State that is not keyed by operator id; operators without any are left out."""
        states = {}
        for spec in self.specs:
            own = self.operators[spec.node_id].snapshot()
            if own is not None:
                states[spec.operator_id] = own
        return states

    def snapshot_keyed(self) -> Iterator[tuple[str, int, GroupPart]]:
        """Operator id, key group and a chunk of the group's state and timers."""
        for spec in self.specs:
            for group, part in self.operators[spec.node_id].snapshot_keyed():
                yield spec.operator_id, group, part

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        """Tells every operator, in order, that a checkpoint is complete."""
        if not self._is_closed:
            self._in_order(lambda operator: lambda: operator.notify_checkpoint_complete(checkpoint_id))
            return
        for spec in self.specs:
            if self.operators[spec.node_id].awaits_commit:
                self._guarded(spec, partial(self.operators[spec.node_id].notify_checkpoint_complete, checkpoint_id))

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:
        """Tells every operator, in order, that a checkpoint was given up."""
        self._in_order(lambda operator: lambda: operator.notify_checkpoint_aborted(checkpoint_id))

    def close(self) -> None:
        """Closes all operators once; the first failure is raised after all have been closed."""
        if self._is_closed:
            return
        self._is_closed = True
        failure: Exception | None = None
        for spec in self.specs:
            try:
                self._guarded(spec, self.operators[spec.node_id].close)
            except OperatorFailure as caught:
                failure = failure or caught
        if failure is not None:
            raise failure

    def _in_order(self, action: Callable[[Operator], Callable[[], None]]) -> None:
        for spec in self.specs:
            self._guarded(spec, action(self.operators[spec.node_id]))

    def guarded_head(self, action: Callable[[], T]) -> T:
        """Does what only the head can do; a failure names it."""
        return self._guarded(self.specs[0], action)

    def _guarded(self, spec: ChainedOperator, action: Callable[[], T]) -> T:
        before, turn.cell[0] = turn.cell[0], self._numbers[spec.node_id]
        try:
            result = action()
        except OperatorFailure:
            raise
        except BaseException as cause:
            raise OperatorFailure(self.locations[spec.node_id]) from cause
        turn.cell[0] = before
        return result


def _output_of(spec: ChainedOperator, task: TaskInfo) -> Output:
    output = Output(spec.has_side_outputs)
    type_info = spec.output_type
    if type_info is None or type_info.coercer() is None or isinstance(spec.operation, ReadSplits):
        return output
    output.inspect = TypeWatch(spec, type_info, task.send_to_driver).look
    if not spec.passes_unchanged:
        output.coerce = type_info.coerce_list
    return output
