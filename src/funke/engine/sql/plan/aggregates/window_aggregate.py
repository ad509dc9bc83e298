"""WindowAggregate: one row per key and window when the window ends; of numbers in a local and a global phase."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from funke.engine.graph.state_meaning import StateMeaning
from funke.engine.sql.binding.relations import BoundAggregate
from funke.engine.sql.binding.windows.window_relations import WindowAggregation, WindowTime
from funke.engine.sql.plan import (
    INSERTS,
    PREFIX,
    Distribution,
    ExplainStyle,
    Hash,
    Kinds,
    LocalPhase,
    PlanNode,
    Pruned,
    UpsertKeys,
    WatermarkStep,
    call_text,
    column_name,
    finer,
    moved_aggregate,
    one_key,
    used_by,
)
from funke.engine.sql.plan.windows import WINDOW_COLUMNS, window_step, windows_text
from funke.engine.sql.window_kinds import SessionWindows, SlicedWindows

if TYPE_CHECKING:
    from funke.engine.operators.operator import Operator, TaskInfo
    from funke.engine.sql.meaning import ColumnStrings

__all__ = ["LocalWindowAggregate", "WindowAggregate"]


@dataclass(frozen=True)
class WindowAggregate(WindowAggregation, PlanNode):
    """Keeps the accumulators of each key in each slice or session, or in each window that rows carry."""

    operator_name: ClassVar[str] = "WindowAggregate"
    state_name: ClassVar[str] = "WindowAggregate"
    explains_phases: ClassVar[bool] = False

    input: PlanNode

    def distributions(self) -> tuple[Distribution, ...]:
        return (Hash(self.keys),)

    def changelog(self) -> Kinds:
        # One result for each key and window, at its end, which nothing takes back: late rows are dropped.
        return INSERTS

    def needs_before(self, consumer_needs: bool) -> tuple[bool, ...]:
        # What was taken in must be taken back before a window ends.
        return (True,)

    def upsert_keys(self) -> UpsertKeys:
        """Windows differ by their start, or by their end; cumulating ones have the same start."""
        keys, start = range(len(self.keys)), len(self.columns) - len(WINDOW_COLUMNS)
        if self.windows is None:
            return one_key((*keys, start, start + 1))
        by_end = one_key((*keys, start + 1))
        return by_end | one_key((*keys, start)) if self.windows.has_unique_starts else by_end

    def pruned(self, needed: frozenset[int]) -> Pruned:
        first, last = len(self.keys), len(self.columns)
        kept = [number for number in range(len(self.aggregates)) if first + number in needed]
        aggregates = [self.aggregates[number] for number in kept]
        window_columns = self.window_columns or ()
        own_time = set() if window_columns else {self.time.column}
        source, moves = self.input.pruned(frozenset(used_by(aggregates) | {*self.keys, *window_columns} | own_time))
        kept_columns = [*range(first), *(first + number for number in kept), *range(last - len(WINDOW_COLUMNS), last)]
        node = replace(
            self,
            columns=tuple(self.columns[index] for index in kept_columns),
            input=source,
            keys=tuple(moves[key] for key in self.keys),
            aggregates=tuple(moved_aggregate(each, moves) for each in aggregates),
            time=replace(self.time, column=0 if window_columns else moves[self.time.column]),
            window_columns=(moves[window_columns[0]], moves[window_columns[1]]) if window_columns else None,
        )
        return node, {old: new for new, old in enumerate(kept_columns)}

    def watermark_step(self, consumer_step: WatermarkStep | None) -> WatermarkStep | None:
        return finer(consumer_step, window_step(self.time, self.windows))

    def title(self, style: ExplainStyle) -> str:
        inputs = self.input.columns
        keys = [column_name(inputs[index]) for index in self.keys]
        calls = [f"{call_text(each, inputs)} AS EXPR${number}" for number, each in enumerate(self.aggregates)]
        group_by = f"groupBy=[{', '.join(keys)}], " if keys else ""
        select = ", ".join([*keys, *calls, "start('w$) AS window_start", "end('w$) AS window_end"])
        return f"WindowAggregate({group_by}window=[{self._windows_text()}], select=[{select}]{self.emit_text()})"

    def _windows_text(self) -> str:
        inputs = self.input.columns
        if self.windows is not None:
            return windows_text(f"time_col=[{column_name(inputs[self.time.column])}]", self.windows)
        assert self.window_columns is not None
        start, end = (column_name(inputs[index]) for index in self.window_columns)
        return f"WINDOW(win_start=[{start}], win_end=[{end}])"

    def emit_text(self) -> str:
        """The results before and behind the end of windows, as plans show them."""
        return ""

    def phases(self) -> tuple[PlanNode, ...]:
        from funke.engine.sql.operators.windows.slices.partial_aggregate import are_numbers, partial_columns

        # Entries of slices are numbers that are added up, of rows that are not taken back.
        is_local = isinstance(self.windows, SlicedWindows) and self.time.is_event_time
        if not is_local or self.input.has_retractions or not are_numbers(self.aggregates):
            return (self,)
        assert isinstance(self.windows, SlicedWindows)
        local = LocalWindowAggregate(
            partial_columns(self), self.input, self.keys, self.aggregates, self.windows, self.time, self.title(PREFIX)
        )
        return local, GlobalWindowAggregate(**{**vars(self), "input": local, "keys": tuple(range(len(self.keys)))})

    def column_text(self, strings: ColumnStrings, index: int) -> str:
        keys, calls = len(self.keys), len(self.aggregates)
        if index < keys:
            return strings.column(self.input, self.keys[index])
        if self.windows is not None:
            windows = strings.windows(self.input, self.windows, self.time)
        else:
            assert self.window_columns is not None
            windows = strings.columns(self.input, self.window_columns)
        if index >= keys + calls:
            return f"{windows}.{WINDOW_COLUMNS[index - keys - calls]}"
        call = strings.call(self.input, self.aggregates[index - keys])
        return f"({call}{strings.group_by(self.input, self.keys)} IN {windows})"

    def state_meaning(self, strings: ColumnStrings) -> StateMeaning | None:
        from funke.engine.sql.meaning import ACCUMULATORS, accumulators, input_facts, key_fact, window_fact
        from funke.engine.sql.operators.windows.slices.gathered_rows import window_kernel

        source, takes_back = self.input, self.input.has_retractions
        calls = accumulators(strings, source, self.aggregates, lambda call: window_kernel(call, takes_back))
        windows = window_fact(strings, source, self.windows, self.time, self.window_columns)
        facts = (key_fact(strings, source, self.keys), windows, *input_facts(strings, source))
        return StateMeaning("WindowAggregate", facts, ((ACCUMULATORS, calls),))

    def create(self, task: TaskInfo) -> Operator:
        from funke.engine.sql.operators.windows.session_windows.session_window_aggregate import SessionWindowOperator
        from funke.engine.sql.operators.windows.slices import window_aggregate as operators

        if self.windows is None:
            return operators.AttachedWindowOperator(self)
        if isinstance(self.windows, SlicedWindows):
            return operators.SliceWindowOperator(self, self.windows)
        assert isinstance(self.windows, SessionWindows)
        return SessionWindowOperator(self, self.windows)


@dataclass(frozen=True)
class LocalWindowAggregate(LocalPhase):
    """The first phase: what the rows of a batch come to, one entry per key and slice. It keeps no state."""

    operator_name: ClassVar[str] = "LocalWindowAggregate"

    keys: tuple[int, ...]
    aggregates: tuple[BoundAggregate, ...]
    windows: SlicedWindows
    time: WindowTime
    # How plans show both phases together.
    whole: str

    def title(self, style: ExplainStyle) -> str:
        return f"Local{self.whole}"

    def create(self, task: TaskInfo) -> Operator:
        from funke.engine.sql.operators.windows.slices.partial_aggregate import PartialAggregateOperator

        return PartialAggregateOperator(self)


@dataclass(frozen=True)
class GlobalWindowAggregate(WindowAggregate):
    """The second phase: puts the entries of the first one together."""

    operator_name: ClassVar[str] = "GlobalWindowAggregate"

    def phases(self) -> tuple[PlanNode, ...]:
        return (self,)

    def title(self, style: ExplainStyle) -> str:
        assert isinstance(self.input, LocalWindowAggregate)
        return f"Global{self.input.whole}"

    def create(self, task: TaskInfo) -> Operator:
        from funke.engine.sql.operators.windows.slices.global_window_aggregate import EntryWindowOperator

        assert isinstance(self.windows, SlicedWindows)
        return EntryWindowOperator(self, self.windows)
