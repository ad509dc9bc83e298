"""Reads keyed state key by key, with a function of the user."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

import cloudpickle

from funke.engine.state.storage_keys import original_key
from funke.engine.state_processor.functions import KeyedStateReaderFunction
from funke.engine.state_processor.piece_states import PieceStates, open_piece
from funke.engine.state_processor.state_parts import StatePiece
from funke.engine.state_processor.state_source import StateNames

__all__ = ["KeyReading"]


class KeyReading:
    """Calls `read_key` for every key that has one of the states that the function asked for in `open`."""

    def __init__(self, function: KeyedStateReaderFunction[Any, Any]) -> None:
        # Each piece has a function of its own, as each subtask has in Flink.
        self._function = cloudpickle.dumps(function)

    def __call__(self, piece: StatePiece, names: StateNames) -> Iterator[Any]:
        """Yields what the function yields."""
        with open_piece(piece, names) as states:
            function: KeyedStateReaderFunction[Any, Any] = pickle.loads(self._function)
            function.open(states.runtime_context())
            names.wanted.update(states.asked_for)
            try:
                context = _KeyContext(states)
                for key in _keys(states, names.wanted):
                    states.current_key = key
                    yield from function.read_key(original_key(key), context) or ()
            finally:
                function.close()


def _keys(states: PieceStates, names: set[str]) -> Iterator[Any]:
    """The keys that have a wanted state, or any state or timer when none in particular is wanted."""
    with_timers = {} if names else dict.fromkeys([*states.event_timers, *states.processing_timers])
    for batch in states.key_batches():
        keys_with_state: dict[Any, None] = {}
        for table_id, keys in batch.items():
            if table_id.namespace is None and (not names or table_id.name in names):
                keys_with_state.update(dict.fromkeys(keys))
        for key in keys_with_state:
            with_timers.pop(key, None)
            yield key
    yield from with_timers


class _KeyContext(KeyedStateReaderFunction.Context):
    def __init__(self, states: PieceStates) -> None:
        self._states = states

    def registered_event_time_timers(self) -> set[int]:
        """Return the times of the key's event-time timers."""
        return set(self._states.event_timers.get(self._states.current_key, ()))

    def registered_processing_time_timers(self) -> set[int]:
        """Return the times of the key's processing-time timers."""
        return set(self._states.processing_timers.get(self._states.current_key, ()))
