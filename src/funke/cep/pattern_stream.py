"""A stream with a pattern: what is done with the matches."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from operator import itemgetter
from typing import Any

from funke.cep.functions import Selecting, SelectingWithTimeouts
from funke.cep.pattern import Pattern
from funke.datastream.data_stream import DataStream, KeyedStream
from funke.datastream.engine_values import OutputType, declared_type
from funke.datastream.functions import NullByteKeySelector
from funke.engine.errors import TypeMismatchError, at_user_line
from funke.engine.graph import operations as op
from funke.engine.graph.column_key import ColumnKey
from funke.engine.graph.state_meaning import pattern_meaning
from funke.engine.operators.functions.pattern_functions import PatternProcessFunction
from funke.engine.operators.keyed.key_functions import TypedKey
from funke.engine.operators.keyed.key_lists import field_of_key
from funke.engine.operators.patterns import pattern as engine
from funke.engine.operators.patterns.automaton import Automaton
from funke.engine.operators.patterns.compiler import compile_pattern
from funke.engine.operators.patterns.conditions import masks_in
from funke.engine.operators.patterns.explanation import explain
from funke.engine.operators.patterns.runs import Matcher
from funke.engine.sql.operators.match_columns import MatchColumns
from funke.engine.sql.operators.stream_conditions import StreamRows, bits_of_events, with_bound_conditions
from funke.engine.sql.stream_types import value_type_of
from funke.engine.types import RowTypeInfo, TupleTypeInfo, TypeInformation
from funke.engine.types.information.arrow_types import field_names
from funke.engine.types.output_tag import OutputTag

__all__ = ["PatternStream", "required_tag", "rows_for_conditions"]


class PatternStream:
    """The matches of a pattern in a stream.

    >>> from funke.cep import CEP, Pattern, PatternStream
    >>> from funke.datastream import StreamExecutionEnvironment
    >>> pattern = Pattern.begin("low").where(lambda x: x < 10).next("high").where(lambda x: x > 90)
    >>> readings = StreamExecutionEnvironment.get_execution_environment().from_collection([5, 95, 50])
    >>> jumps: PatternStream = CEP.pattern(readings, pattern).in_processing_time()
    >>> list(jumps.flat_select(lambda match: match["low"] + match["high"]).execute_and_collect())
    [5, 95]
    """

    def __init__(self, stream: DataStream, pattern: Pattern, comparator: Callable[[Any, Any], int] | None) -> None:
        # Without keys all events are in one subtask.
        self._is_keyed = isinstance(stream, KeyedStream)
        self._stream = stream if isinstance(stream, KeyedStream) else stream.key_by(NullByteKeySelector())
        self._pattern = pattern._to_engine()
        # What is wrong with the pattern is said here, not when the job runs.
        compile_pattern(self._pattern)
        self._rows = rows_for_conditions(stream) if _has_expressions(self._pattern) else None
        if self._rows is not None:
            self._pattern = with_bound_conditions(self._pattern, self._rows)
        self._comparator = comparator
        self._is_event_time = True
        self._late_tag: OutputTag | None = None

    def in_event_time(self) -> PatternStream:
        """Order events by their timestamps; this is the default."""
        return self._with(_is_event_time=True)

    def in_processing_time(self) -> PatternStream:
        """Match events as they come."""
        return self._with(_is_event_time=False)

    def side_output_late_data(self, late_data_output_tag: OutputTag) -> PatternStream:
        """Send events that come too late to a side output; otherwise they are dropped."""
        return self._with(_late_tag=required_tag(late_data_output_tag))

    def process(self, pattern_process_function: PatternProcessFunction, output_type: OutputType = None) -> DataStream:
        """Apply a function to each match; if it is a TimedOutPartialMatchHandler too, to what has timed out."""
        if not isinstance(pattern_process_function, PatternProcessFunction):
            raise TypeError(
                at_user_line(
                    f"process() of a pattern needs a PatternProcessFunction, "
                    f"got {type(pattern_process_function).__name__}"
                )
            )
        if self._rows is not None:
            stream = self._of_columns(pattern_process_function, self._rows, declared_type(output_type))
        else:
            stream = self._of_events(pattern_process_function, declared_type(output_type))
        return stream if self._is_keyed else stream.set_parallelism(1)

    def _of_events(self, function: PatternProcessFunction, output_type: TypeInformation | None) -> DataStream:
        key = self._stream._key
        assert key is not None
        operation = op.MatchPattern(self._pattern, function, key, self._is_event_time, self._comparator, self._late_tag)
        return self._stream._add(operation, "CepOperator", output_type)

    def _of_columns(
        self, function: PatternProcessFunction, rows: StreamRows, output_type: TypeInformation | None
    ) -> DataStream:
        stream = _keyed_by_column(self._stream, rows)
        factory = MatchColumns(
            self._pattern,
            function,
            stream._key if self._is_keyed else None,
            rows,
            self._is_event_time,
            self._comparator,
            self._late_tag,
        )
        meaning = pattern_meaning(self._pattern.text, self._is_event_time)
        return stream._add(op.ColumnOperator(factory, meaning), "CepOperator", output_type)

    def select(self, *functions: Any, output_type: OutputType = None) -> DataStream:
        """Make one element out of each match: `select(function)`.

        `select(tag, timeout_function, function)` makes one for a side output out of each partial match that times out.
        """
        return self._select("select()", functions, False, output_type)

    def flat_select(self, *functions: Any, output_type: OutputType = None) -> DataStream:
        """Make any number of elements out of each match, with the same arguments as `select`."""
        return self._select("flat_select()", functions, True, output_type)

    def explain(self, events: Iterable[tuple[int, Any]]) -> str:
        """Say what becomes of the events of one key: which of them moves which partial match; goes beyond Flink.

        Events are pairs of a time in milliseconds and a value; nothing is run.
        """
        ordered = sorted(events, key=itemgetter(0))
        matcher = Matcher(Automaton(self._pattern))
        if self._rows is None:
            timed = [(time, event, 0) for time, event in ordered]
            return "\n".join(explain(matcher, timed))
        bits, known_bits, masks = bits_of_events(matcher.automaton, self._rows, [event for _, event in ordered])
        matcher.context.masks = masks
        timed = [(time, event, own_bits) for (time, event), own_bits in zip(ordered, bits)]
        return "\n".join(explain(matcher, timed, known_bits))

    def _select(self, method: str, functions: tuple[Any, ...], is_flat: bool, output_type: OutputType) -> DataStream:
        if len(functions) == 1:
            return self.process(Selecting(functions[0], is_flat), output_type)
        if len(functions) != 3:
            raise TypeError(
                at_user_line(f"{method} needs a function, or a tag, a function for timeouts and a function")
            )
        tag, timeout_function, function = functions
        return self.process(SelectingWithTimeouts(function, is_flat, timeout_function, required_tag(tag)), output_type)

    def _with(self, **changes: Any) -> PatternStream:
        changed = copy.copy(self)
        vars(changed).update(changes)
        return changed


def _has_expressions(pattern: engine.Pattern) -> bool:
    return any(True for each in engine.conditions_in(pattern.elements) for _ in masks_in(each))


def rows_for_conditions(stream: DataStream) -> StreamRows:
    """The type of rows or tuples, whose fields conditions may name."""
    rows = value_type_of(stream._type_info)
    if not isinstance(rows, (RowTypeInfo, TupleTypeInfo)):
        raise TypeMismatchError(
            at_user_line(
                "conditions over columns need rows or tuples with a declared type, such as "
                f"output_type=Types.ROW_NAMED(['amount'], [Types.LONG()]) of the operation before; got {rows}"
            )
        )
    return rows


def _keyed_by_column(stream: KeyedStream, rows: StreamRows) -> KeyedStream:
    """The stream by the column that its key selector names, so that it need not become rows for it."""
    key, names = stream._key, list(field_names(rows))
    assert key is not None
    field = field_of_key(key.select if isinstance(key, TypedKey) else key)
    if isinstance(field, str) and field in names and isinstance(rows, RowTypeInfo):
        index = names.index(field)
    elif isinstance(field, int) and 0 <= field < len(names):
        index = field
    else:
        return stream
    if stream._key_type not in (None, rows.get_field_types()[index]):
        return stream
    return stream._origin_stream.key_by(ColumnKey((names[index],), index))


def required_tag(output_tag: OutputTag) -> OutputTag:
    if not isinstance(output_tag, OutputTag):
        raise TypeError(at_user_line(f"a side output needs an OutputTag, got {type(output_tag).__name__}"))
    return output_tag
