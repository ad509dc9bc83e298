"""The operator protocol: batches, watermarks and time go in; an Output takes what comes out."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from funke.engine.operators.record_copy import copies_of
from funke.engine.operators.time.clock import Clock, SystemClock
from funke.engine.operators.turn import turn
from funke.engine.state.backend_choice import BackendChoice
from funke.engine.types import KeyGroups
from funke.engine.types.columns.edge_forms import EdgeForms
from funke.engine.types.keys.key_groups import NEWEST_KEY_HASH
from funke.engine.types.operator_location import OperatorLocation

if TYPE_CHECKING:
    from funke.engine.graph.state_meaning import StateMoves
    from funke.engine.state.snapshot.file_format import GroupPart, LocalFile
    from funke.engine.types import TypeInformation
    from funke.engine.types.columns.column_batch import ColumnBatch
    from funke.engine.types.driver_messages import DriverMessage

MIN_WATERMARK = -(1 << 63)
MAX_WATERMARK = (1 << 63) - 1

Values = list  # a batch: a plain list of records, never changed by its receivers
Timestamps = list  # event times in milliseconds, as many as there are values


class Target(Protocol):
    """Where batches and watermarks go: an operator, or an exit of the segment."""

    @property
    def takes_rows(self) -> bool:
        """Whether it takes batches in the form of rows."""
        ...

    @property
    def takes_columns(self) -> bool:
        """Whether it takes batches in the form of columns."""
        ...

    @property
    def wants_columns(self) -> bool:
        """Whether it, or an operator it hands batches to, would have to convert rows to columns."""
        ...

    def process_batch(self, values: list[Any], timestamps: list[int] | None) -> None:
        """Takes records in order; `timestamps` is None when they have none."""
        ...

    def process_columns(self, batch: ColumnBatch) -> None:
        """Takes records in order, if it takes columns."""
        ...

    def process_watermark(self, watermark: int) -> None:
        """No record at or before this time will follow."""
        ...

    def process_status(self, is_idle: bool) -> None:
        """The stream fell idle (its watermark does not count) or is active again."""
        ...


class OperatorFailure(Exception):
    """A user function raised: where that was, and the original exception as the cause."""

    def __init__(self, location: OperatorLocation) -> None:
        super().__init__(location)
        self.location = location


@dataclass
class TaskInfo:
    """What all operators of one subtask share."""

    job_id: str = "job"
    job_name: str = "job"
    task_name: str = "task"
    vertex_id: int = 0
    subtask: int = 0
    parallelism: int = 1
    max_parallelism: int = 128
    # See `KeyGroups`.
    key_hash: int = NEWEST_KEY_HASH
    attempt: int = 0
    # The checkpoint that the job starts from.
    restored_checkpoint_id: int | None = None
    is_batch: bool = False
    # Whether the input comes in epochs, with nothing to do between them.
    has_epochs: bool = True
    backend: BackendChoice = field(default_factory=BackendChoice)
    auto_watermark_interval_ms: int = 200
    job_parameters: dict[str, str] = field(default_factory=dict)
    # Files that the program has registered: name -> path on this host.
    cached_files: dict[str, str] = field(default_factory=dict)
    clock: Clock = field(default_factory=SystemClock)
    send_to_driver: Callable[[DriverMessage], None] = lambda message: None
    # For other threads: has the slot look for what is ready.
    wake: Callable[[], None] = lambda: None
    # Where sinks may keep what waits for its commit; None when the job takes no checkpoints.
    staging_folder: str | None = None

    @property
    def key_groups(self) -> KeyGroups:
        """How keys are dealt out to the subtasks."""
        return KeyGroups(self.max_parallelism, self.key_hash)


@dataclass
class OperatorContext:
    """What one operator is given before `open`."""

    task: TaskInfo
    operator_name: str
    operator_id: str
    output: Output
    input_type: TypeInformation | None = None
    user_line: str | None = None


class Output:
    """Hands an operator's results to the operators chained behind it and to the exits of the segment."""

    def __init__(self, has_side_outputs: bool = False) -> None:
        self._main = _Port()
        self._sides: dict[str, _Port] = {}
        # Once the program asked for a side output, pairs with a tag are not records, whether or not this job reads it.
        self.has_side_outputs = has_side_outputs
        self.records_out = 0
        self.coerce: Callable[[list[Any]], list[Any]] | None = None
        # Looks at one result of each batch: looking at all of them would cost too much.
        self.inspect: Callable[[Any], None] | None = None
        self.current_watermark = MIN_WATERMARK

    def connect(
        self,
        target: Target,
        location: OperatorLocation,
        tag_id: str | None = None,
        edge_type: TypeInformation | None = None,
    ) -> None:
        """Adds a receiver of the main output, or of the side output `tag_id`; the type is that of the records."""
        port = self._main if tag_id is None else self._sides.setdefault(tag_id, _Port())
        port.connect(_Wire(target, location), edge_type)
        self.has_side_outputs = self.has_side_outputs or tag_id is not None

    def emit(self, values: list[Any], timestamps: list[int] | None) -> None:
        """Sends a batch to the main output."""
        if not values:
            return
        self.records_out += len(values)
        _deliver(self._main.by_rows, self._coerced(values), timestamps)

    def _coerced(self, values: list[Any]) -> list[Any]:
        if self.inspect is not None:
            self.inspect(values[0])
        return values if self.coerce is None else self.coerce(values)

    def emit_columns(self, batch: ColumnBatch) -> None:
        """Sends a batch of columns to the main output; those who take rows get it as rows."""
        if len(batch):
            self.records_out += len(batch)
            self._main.send_columns(batch)

    def rows_of(self, batch: ColumnBatch) -> tuple[list[Any], list[int] | None]:
        """The values and timestamps of columns that are about to be sent here, for those who look at records."""
        return self._main.forms.rows_of(batch)

    def columns_of(self, values: list[Any], timestamps: list[int] | None) -> ColumnBatch:
        """Records that are about to be sent here as columns, if nobody takes them otherwise."""
        return self._main.forms.columns_of(self._coerced(values), timestamps)

    @property
    def takes_rows(self) -> bool:
        """Whether a receiver takes rows; if none does, they are made columns here."""
        return not self._main.wires or any(wire.target.takes_rows for wire in self._main.wires)

    @property
    def wants_columns(self) -> bool:
        """Whether a receiver would have to convert the rows sent here to columns."""
        return any(wire.target.wants_columns for wire in self._main.wires)

    def emit_side(self, tag_id: str, values: list[Any], timestamps: list[int] | None) -> None:
        """Sends a batch to a side output; one without readers is dropped."""
        port = self._sides.get(tag_id)
        _deliver([] if port is None else port.by_rows, values, timestamps)

    def emit_watermark(self, watermark: int) -> None:
        """Sends a watermark everywhere, side outputs included."""
        self.current_watermark = watermark
        for wire in self._wires():
            wire.watermark(watermark)

    def emit_status(self, is_idle: bool) -> None:
        """Tells every receiver that this stream fell idle, or is active again."""
        for wire in self._wires():
            wire.target.process_status(is_idle)

    def _wires(self) -> list[_Wire]:
        return [*self._main.wires, *(wire for port in self._sides.values() for wire in port.wires)]


def _deliver(wires: list[_Receiver], values: list[Any], timestamps: list[int] | None) -> None:
    if len(wires) == 1:
        wires[0].batch(values, timestamps)
        return
    # Each receiver may change the records it gets, so all but the first get copies, made before any of them runs.
    batches = [values, *(copies_of(values) for _ in wires[1:])]
    for wire, batch in zip(wires, batches, strict=False):
        wire.batch(batch, timestamps)


@dataclass
class _Wire:
    target: Target
    location: OperatorLocation

    def __post_init__(self) -> None:
        self._number = turn.number_of(self.location)

    def batch(self, values: list[Any], timestamps: list[int] | None) -> None:
        cell = turn.cell
        before, cell[0] = cell[0], self._number
        try:
            self.target.process_batch(values, timestamps)
        except OperatorFailure:
            raise
        except BaseException as cause:  # sys.exit() in a function ends no slot
            raise OperatorFailure(self.location) from cause
        cell[0] = before

    def columns(self, batch: ColumnBatch) -> None:
        self._run(self.target.process_columns, batch)

    def watermark(self, watermark: int) -> None:
        self._run(self.target.process_watermark, watermark)

    def _run(self, process: Callable[[Any], None], element: Any) -> None:
        cell = turn.cell
        before, cell[0] = cell[0], self._number
        try:
            process(element)
        except OperatorFailure:
            raise
        except BaseException as cause:
            raise OperatorFailure(self.location) from cause
        cell[0] = before


class _ToColumns:
    """Stands for the receivers that take columns alone: rows are converted once for all of them."""

    def __init__(self, forms: EdgeForms) -> None:
        self._forms = forms
        self.wires: list[_Wire] = []

    def batch(self, values: list[Any], timestamps: list[int] | None) -> None:
        batch = self._forms.columns_of(values, timestamps)
        for wire in self.wires:
            wire.columns(batch)


_Receiver = _Wire | _ToColumns


class _Port:
    """The receivers of an output by the form that they take."""

    def __init__(self) -> None:
        self.wires: list[_Wire] = []
        self.by_rows: list[_Receiver] = []
        self._by_columns: list[_Wire] = []
        self._only_by_rows: list[_Receiver] = []
        self._to_columns: _ToColumns | None = None
        self.forms = EdgeForms(None)

    def connect(self, wire: _Wire, edge_type: TypeInformation | None) -> None:
        """Adds a receiver."""
        target = wire.target
        if not self.wires:
            self.forms = EdgeForms(edge_type)
        self.wires.append(wire)
        if target.takes_columns:
            self._by_columns.append(wire)
        if target.takes_rows:
            self.by_rows.append(wire)
            if not target.takes_columns:
                self._only_by_rows.append(wire)
            return
        if self._to_columns is None:
            self._to_columns = _ToColumns(self.forms)
            self.by_rows.append(self._to_columns)
        self._to_columns.wires.append(wire)

    def send_columns(self, batch: ColumnBatch) -> None:
        """Hands a batch on as it is, and converts it once for those that take rows alone."""
        for wire in self._by_columns:
            wire.columns(batch)
        if self._only_by_rows:
            _deliver(self._only_by_rows, *self.forms.rows_of(batch))


class Operator:
    """Base of all operators; a subclass overrides what it needs."""

    context: OperatorContext
    output: Output

    # The forms of batches that it takes; what comes in the other one is converted before.
    takes_rows: bool = True
    takes_columns: bool = False
    # Whether it receives the watermark of each input, instead of their minimum.
    has_input_watermarks: bool = False

    @property
    def wants_columns(self) -> bool:
        """Whether rows would have to be made columns for it; those who hand on what they get ask their receivers."""
        return not self.takes_rows

    def setup(self, context: OperatorContext) -> None:
        """Called once, before state is restored and before `open`."""
        self.context = context
        self.output = context.output
        self.records_in = 0

    def open(self) -> None:
        """Called once before the first record."""

    def process_batch(self, values: list[Any], timestamps: list[int] | None) -> None:
        """Takes a batch of the only input."""
        raise NotImplementedError

    def input_handler(self, input_index: int) -> Callable[[list[Any], list[int] | None], None]:
        """The method that takes batches of one input; operators with two inputs override it."""
        return self.process_batch

    def process_columns(self, batch: ColumnBatch) -> None:
        """Takes a batch of columns of the only input."""
        raise NotImplementedError

    def columns_handler(self, input_index: int) -> Callable[[ColumnBatch], None]:
        """The method that takes columns of one input; operators with two inputs override it."""
        return self.process_columns

    def process_watermark(self, watermark: int) -> None:
        """Event time has advanced (the minimum over all inputs): fire timers, then pass it on."""
        self.output.emit_watermark(watermark)

    def process_status(self, is_idle: bool) -> None:
        """All inputs fell idle, or one is active again."""
        self.output.emit_status(is_idle)

    def process_input_watermark(self, input_index: int, watermark: int) -> None:
        """Event time of one input has advanced; in place of `process_watermark` for those who want it so."""
        raise NotImplementedError

    def process_input_status(self, input_index: int, is_idle: bool) -> None:
        """One input fell idle, or is active again; in place of `process_status`."""
        raise NotImplementedError

    def end_input(self) -> None:
        """All inputs have ended; MAX_WATERMARK has been processed before."""

    def flush(self) -> None:
        """Nothing more is there to be processed just now: what was written must not stay in a buffer."""

    def end_epoch(self) -> None:
        """The epoch's records have all been processed; without epochs, called now and then."""

    def next_wakeup_ms(self) -> int | None:
        """The earliest processing time at which `on_processing_time` has something to do."""
        return None

    def on_processing_time(self, now_ms: int) -> None:
        """Processing time has reached `now_ms`."""

    @property
    def has_unfinished(self) -> bool:
        """Whether records are worked on elsewhere, so that the end of the input has to wait for their results."""
        return False

    def release_waiting(self) -> None:
        """Processes records that wait for more to come: the caller asks whether anything is in flight."""

    def prepare_snapshot(self, checkpoint_id: int) -> None:
        """A checkpoint begins, after `end_epoch`: the only step of it that may change something. Must be quick.

        What belongs to other threads or to files is settled here; the methods that follow run in a forked process.
        """

    def hottest_key(self) -> dict[str, Any]:
        """The key that most of its records have, and their share, if it has keys and one of them stands out."""
        return {}

    def snapshot(self) -> Any:
        """Picklable state that is not keyed, as of the last `prepare_snapshot`; None if there is none."""
        return None

    def snapshot_keyed(self) -> Iterator[tuple[int, GroupPart]]:
        """Keyed state and timers by key group, in chunks; as of the last `prepare_snapshot`."""
        return iter(())

    def native_files(self) -> tuple[LocalFile, ...]:
        """Files that hold the keyed state as of the last `prepare_snapshot`, for incremental checkpoints.

        With them `snapshot_timers` takes the place of `snapshot_keyed`. None if the state is not in files.
        """
        return ()

    def snapshot_timers(self) -> Iterator[tuple[int, GroupPart]]:
        """Timers by key group, in chunks; as of the last `prepare_snapshot`."""
        return iter(())

    def restore_native(self, folders: Sequence[str], groups: Container[int]) -> None:
        """Takes back key groups from folders with such files, one for each old subtask; before `restore_keyed`."""

    def state_types(self) -> dict[str, str]:
        """The types that states are declared with, by name."""
        return {}

    def restore_types(self, types: Mapping[str, str]) -> None:
        """Takes back what `state_types` gave; called before `open`."""

    def moved(self, part: GroupPart, moves: StateMoves) -> GroupPart:
        """Keyed state that was written when its parts stood in another order, as `restore_keyed` wants it."""
        raise NotImplementedError

    def restore(self, state: Any) -> None:
        """Takes back what `snapshot` gave; called before `open`."""

    def restore_keyed(self, parts: Iterable[tuple[int, GroupPart]]) -> None:
        """Takes back the key groups of this subtask; called after `setup` and before `open`."""

    @property
    def awaits_commit(self) -> bool:
        """Whether it was closed and still has to hear of the last checkpoint."""
        return False

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        """A checkpoint that was prepared here is complete."""

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:
        """A checkpoint that was prepared here was given up."""

    def announce(self) -> None:
        """After a restart, once all are open: tells receivers, who have forgotten it, how far event time is."""

    def metrics(self) -> dict[str, Any]:
        """Values to show to users, by metric name."""
        return {}

    def close(self) -> None:
        """Called once at the end, also after a failure."""
