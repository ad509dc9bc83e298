"""Patterns that change while the job runs: events of a keyed stream, definitions of patterns from a broadcast one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from funke.engine.errors import MalformedPatternError
from funke.engine.graph.operations import KeySelector
from funke.engine.operators.functions.pattern_functions import TimedOutPartialMatchHandler
from funke.engine.operators.keyed.keyed_operator import KeyedOperator
from funke.engine.operators.operator import MIN_WATERMARK, Operator, TaskInfo
from funke.engine.operators.patterns.match_results import MatchContext
from funke.engine.operators.patterns.runs import KeyRuns, Run, StoredRuns, events_of
from funke.engine.operators.patterns.waiting_events import WaitingEvents
from funke.engine.operators.records.co_operators import BatchHandler
from funke.engine.operators.windowing.window_operator import LATE_RECORDS_DROPPED
from funke.engine.sql.operators.calculate import as_schema, schema_of
from funke.engine.sql.operators.pattern_versions import PatternVersion, PatternVersions, read_definition
from funke.engine.sql.operators.stream_conditions import StreamRows, columns_of_stream
from funke.engine.state.descriptors import MapStateDescriptor, ValueStateDescriptor
from funke.engine.state.interfaces import ValueState
from funke.engine.state.snapshot.file_format import GroupPart
from funke.engine.types import Types
from funke.engine.types.columns.form_change import RowsToColumns
from funke.engine.types.information.type_information import PickledBytesTypeInfo
from funke.engine.types.output_tag import OutputTag

__all__ = ["MatchDynamicPatterns"]

_VERSIONS = MapStateDescriptor("pattern-versions", Types.STRING(), PickledBytesTypeInfo())
_RUNS = "partial-matches"


@dataclass(frozen=True)
class MatchDynamicPatterns:
    """Makes the operator; definitions that are rejected go to the side output of their tag, or fail the job."""

    function: Any
    key_selector: KeySelector
    rows: StreamRows
    late_tag: OutputTag | None = None
    rejected_tag: OutputTag | None = None

    def __call__(self, task: TaskInfo) -> Operator:
        return _DynamicPatternsOperator(self)


@dataclass
class _KeyMatches:
    """The partial matches of a key: for each pattern the version that they belong to, and when the next one is over."""

    of_pattern: dict[str, tuple[int, StoredRuns]]
    timer: int | None


class _DynamicPatternsOperator(KeyedOperator):
    """Events wait for the watermark; each is matched by the patterns that are in force at its time."""

    def __init__(self, factory: MatchDynamicPatterns) -> None:
        super().__init__(factory.function, factory.key_selector)
        self._rows = factory.rows
        self._late_tag, self._rejected_tag = factory.late_tag, factory.rejected_tag
        self._handles_timeouts = isinstance(factory.function, TimedOutPartialMatchHandler)
        self._schema = schema_of(columns_of_stream(factory.rows))
        self._to_columns = RowsToColumns(factory.rows)
        self._waiting = WaitingEvents()
        self._compiled: dict[tuple[str, int], PatternVersion] = {}
        self._in_force: dict[str, PatternVersion] = {}

    def open(self) -> None:
        super().open()
        self._runs: ValueState[_KeyMatches] = self.backend.get_state(
            ValueStateDescriptor(_RUNS, PickledBytesTypeInfo())
        )
        self._broadcast = self.states.store.get_broadcast_state(_VERSIONS)
        self._versions = PatternVersions(dict(self._broadcast.items()))
        self._context = _Context(self.context.task.clock.now_ms, self.results)
        metrics = self.runtime_context.get_metrics_group()
        self._late_dropped = metrics.counter(LATE_RECORDS_DROPPED)
        self._switch(MIN_WATERMARK)

    def input_handler(self, input_index: int) -> BatchHandler:
        """The method for batches of one input."""
        return self._take_events if input_index == 0 else self._take_definitions

    def _take_definitions(self, values: list[Any], timestamps: list[int] | None) -> None:
        self.records_in += len(values)
        for text in values:
            try:
                definition = read_definition(text, self._rows)
            except MalformedPatternError:
                if self._rejected_tag is None:
                    raise
                self.results.take_side(self._rejected_tag, text, None)
                continue
            if self._versions.add(definition, self.timer_service.watermark):
                self._broadcast.put(definition.id, self._versions.entries_of(definition.id))
        self.results.send()

    def _take_events(self, values: list[Any], timestamps: list[int] | None) -> None:
        if not values:
            return
        self.records_in += len(values)
        keys, watermark = self.keys_of(values), self.timer_service.watermark
        self._late_dropped.inc(self._waiting.add(values, keys, timestamps, watermark, self.results, self._late_tag))

    def advance_event_time(self, watermark: int) -> None:
        """Matches the events that the watermark has passed; where other patterns come into force, step by step."""
        for change in self._versions.changes_in(self.timer_service.watermark, watermark):
            self._advance(change - 1)
            self._switch(change)
        self._advance(watermark)
        for name in list(self._versions.forget_before(watermark)):
            self._broadcast.put(name, self._versions.entries_of(name))

    def _advance(self, time: int) -> None:
        """Matches the events up to a time, then ends what is over."""
        events = self._waiting.take_until(time)
        if events:
            self._match(events)
        super().advance_event_time(time)

    def _switch(self, time: int) -> None:
        """Has events be matched by the patterns that are in force at a time."""
        compiled = {}
        for name, (version, pattern) in self._versions.at(time).items():
            version_before = self._compiled.get((name, version))
            compiled[name, version] = version_before or PatternVersion(
                name, version, pattern, self._rows, self.context.task.clock
            )
        self._compiled = compiled
        self._in_force = {name: each for (name, _), each in compiled.items()}

    def _match(self, events: list[tuple[int, Any, Any]]) -> None:
        """Matches events, which are in the order of time, by the patterns in force."""
        versions = list(self._in_force.values())
        if not versions:
            return
        data = self._columns([event for _, _, event in events])
        bits = [version.bits_of(data) for version in versions]
        opened: dict[Any, dict[str, KeyRuns]] = {}
        for number, (time, key, event) in enumerate(events):
            runs = opened.get(key)
            if runs is None:
                runs = opened[key] = self._open(key)
            for version, own_bits in zip(versions, bits):
                own = runs.get(version.name) or KeyRuns([], [])
                self._expire(version, own, time)
                for match in version.matcher.advance(own, event, time, own_bits[number], version.known_bits):
                    self._emit(version, match, time, is_match=True)
                runs[version.name] = own
        for key, runs in opened.items():
            self._store(key, runs)
        self.results.send()

    def _columns(self, events: list[Any]) -> pa.RecordBatch:
        batch = self._to_columns.convert(events, None)
        return as_schema(batch, self._schema).data

    def _open(self, key: Any) -> dict[str, KeyRuns]:
        """The partial matches of a key, without those of versions that are not in force any more."""
        self.backend.current_key = key
        stored = self._runs.value()
        if stored is None:
            return {}
        return {
            name: KeyRuns.of(runs)
            for name, (version, runs) in stored.of_pattern.items()
            if (name, version) in self._compiled
        }

    def _store(self, key: Any, runs: dict[str, KeyRuns]) -> None:
        """Keeps the partial matches of a key; while there are any, it has a timer."""
        self.backend.current_key = key
        before = self._runs.value()
        kept: dict[str, tuple[int, StoredRuns]] = {}
        ends = []
        for name, each in runs.items():
            version, stored = self._in_force[name], each.to_stored()
            if stored is not None:
                kept[name] = version.version, stored
                end = version.matcher.expiry(each.runs)
                ends += [] if end is None else [end]
        if not kept:
            if before is not None:
                self._runs.clear()
            return
        timer = None if before is None else before.timer
        end = min(ends, default=None)
        if end is not None and (timer is None or end < timer or timer <= self.timer_service.watermark):
            timer = end
            self.timer_service.event_timers.register(end, key)
        self._runs.update(_KeyMatches(kept, timer))

    def on_event_timer(self, time: int, entry: Any) -> None:
        """Some partial matches of a key may be over."""
        runs = self._open(entry)
        for name, each in runs.items():
            self._expire(self._in_force[name], each, self.timer_service.watermark)
        self._store(entry, runs)

    def _expire(self, version: PatternVersion, runs: KeyRuns, now: int) -> None:
        if not runs.runs or not version.matcher.is_due(runs.runs, now):
            return
        matches, over = version.matcher.expire(runs, now)
        for match in matches:
            self._emit(version, match, now, is_match=True)
        for run, end in over if self._handles_timeouts else ():
            self._emit(version, run, end, is_match=False)

    def _emit(self, version: PatternVersion, run: Run, time: int, *, is_match: bool) -> None:
        context = self._context
        context.time = context.result_time = time
        context.version = version
        handle = self.function.process_match if is_match else self.function.process_timed_out_match
        outputs = handle(events_of(run, version.matcher.automaton.names), context)
        if outputs is not None:
            self.results.take(outputs, time)

    def snapshot_timers(self) -> Iterator[tuple[int, GroupPart]]:
        yield from super().snapshot_timers()
        yield from self._waiting.snapshot_parts(self.context.task.key_groups)

    def restore_keyed(self, parts: Iterable[tuple[int, GroupPart]]) -> None:
        super().restore_keyed(self._waiting.restored(parts))


class _Context(MatchContext):
    version: PatternVersion

    def pattern_id(self) -> str | None:
        return self.version.name

    def pattern_version(self) -> int | None:
        return self.version.version
