"""Reads the contents of windows, with a function of the user."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

import cloudpickle

from funke.engine.errors import StateError
from funke.engine.operators.windowing.evictor import TimestampedValue
from funke.engine.operators.windowing.window_contexts import WindowState
from funke.engine.operators.windowing.window_operator import CONTENTS, MERGING_SET
from funke.engine.state.descriptors import StateDescriptor, ValueStateDescriptor
from funke.engine.state.interfaces import KeyedStateStore, State
from funke.engine.state.keyed.state_kinds import kind_of
from funke.engine.state.snapshot.file_format import TableId
from funke.engine.state.storage_keys import original_key
from funke.engine.state_processor.functions import WindowReaderFunction
from funke.engine.state_processor.piece_states import PieceStates, open_piece
from funke.engine.state_processor.state_parts import StatePiece
from funke.engine.state_processor.state_source import StateNames
from funke.engine.types.information.type_information import PickledBytesTypeInfo

__all__ = ["PassThroughReader", "WindowReading"]


class PassThroughReader(WindowReaderFunction[Any, Any, Any, Any]):
    """Yields what is in the windows."""

    def read_window(self, key: Any, context: Any, elements: Any) -> Any:
        """Yield the elements."""
        return elements


class WindowReading:
    """Calls `read_window` for every window of every key; `contents` describes how windows keep their elements."""

    def __init__(
        self, contents: StateDescriptor, function: WindowReaderFunction[Any, Any, Any, Any], combine: Any = None
    ) -> None:
        self._contents = cloudpickle.dumps(contents)
        self._function = cloudpickle.dumps(function)
        # Windows with an evictor keep all elements; this makes of them what the window function would get.
        self._combine = cloudpickle.dumps(combine)

    def __call__(self, piece: StatePiece, names: StateNames) -> Iterator[Any]:
        """Yields what the function yields."""
        names.wanted.add(CONTENTS)
        with open_piece(piece, names) as states:
            function: WindowReaderFunction[Any, Any, Any, Any] = pickle.loads(self._function)
            function.open(states.runtime_context())
            reader = _Windows(states, pickle.loads(self._contents), function, pickle.loads(self._combine))
            try:
                for batch in states.key_batches():
                    for table_id in [each for each in batch if each.name == CONTENTS]:
                        _require_kind(table_id, reader.contents, piece)
                        yield from reader.read(table_id, batch[table_id])
            finally:
                function.close()


class _Windows:
    """Reads the windows of one piece."""

    def __init__(
        self,
        states: PieceStates,
        contents: StateDescriptor,
        function: WindowReaderFunction[Any, Any, Any, Any],
        combine: Any,
    ) -> None:
        self.contents = contents
        self._states = states
        self._function = function
        self._combine = combine
        self._context = _WindowContext(states)
        self._merging = states.get_state(ValueStateDescriptor(MERGING_SET, PickledBytesTypeInfo()))

    def read(self, table_id: TableId, keys: list[Any]) -> Iterator[Any]:
        """What the function yields for all keys of a window."""
        states, context, namespace = self._states, self._context, table_id.namespace
        contents = states.get_state(self.contents, namespace)
        for key in keys:
            states.current_key = key
            value = contents.get()
            elements = [value] if table_id.kind != "list" else _combined(value, self._combine)
            context.current = _window_of(namespace, self._merging.value())
            yield from self._function.read_window(original_key(key), context, elements) or ()


def _require_kind(table_id: TableId, contents: StateDescriptor, piece: StatePiece) -> None:
    kind = kind_of(contents)
    if table_id.kind != kind:
        raise StateError(
            f"the windows of operator '{piece.operator_id}' keep {_HOW[table_id.kind]}, and not {_HOW[kind]}: "
            f"read them with {_READER[table_id.kind]}"
        )


_HOW = {"list": "all elements", "reducing": "a reduced value", "aggregating": "an accumulator"}
_READER = {"list": "process(), or after evictor()", "reducing": "reduce()", "aggregating": "aggregate()"}


def _combined(elements: list[Any], combine: Any) -> list[Any]:
    values = [each.value if isinstance(each, TimestampedValue) else each for each in elements]
    return values if combine is None else [combine(values)]


def _window_of(state_window: Any, merged: dict[Any, Any] | None) -> Any:
    """The window whose contents are kept under another one, where windows merge."""
    for window, kept_under in (merged or {}).items():
        if kept_under == state_window:
            return window
    return state_window


class _WindowContext(WindowReaderFunction.Context[Any]):
    """The context for the window `current`."""

    current: Any = None

    def __init__(self, states: PieceStates) -> None:
        self._states = states
        self._global_state = states.runtime_context()
        self._window_state = WindowState(self.trigger_state)

    def window(self) -> Any:
        """Return the window."""
        return self.current

    def trigger_state(self, descriptor: StateDescriptor) -> State:
        """Return state that the trigger keeps for this key and window."""
        state: State = self._states.get_state(descriptor, self.current)
        return state

    def window_state(self) -> KeyedStateStore:
        """Return state that the window function keeps for this key and window."""
        return self._window_state

    def global_state(self) -> KeyedStateStore:
        """Return state of this key that all windows share."""
        return self._global_state

    def registered_event_time_timers(self) -> set[int]:
        """Return the times of the event-time timers of this key and window."""
        return set(self._states.event_timers.get((self._states.current_key, self.current), ()))

    def registered_processing_time_timers(self) -> set[int]:
        """Return the times of the processing-time timers of this key and window."""
        return set(self._states.processing_timers.get((self._states.current_key, self.current), ()))
