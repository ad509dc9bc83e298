"""An operator on a keyed stream: keyed state, timers, and their snapshots by key group."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Any

from funke.engine.graph.operations import KeySelector
from funke.engine.operators.function_operator import FunctionOperator, method_of
from funke.engine.operators.keyed.hot_keys import HotKeys
from funke.engine.operators.keyed.key_lists import key_list
from funke.engine.operators.operator import MAX_WATERMARK, MIN_WATERMARK, OperatorContext
from funke.engine.operators.time.timers import KeyedTimerService
from funke.engine.state.backend_choice import BackendChoice, create_backend
from funke.engine.state.keyed.backend import KeyedBackend
from funke.engine.state.snapshot.file_format import GroupPart, LocalFile
from funke.engine.state.storage_keys import storage_keys
from funke.engine.types.functions import Function

__all__ = ["KeyedOperator"]


class KeyedOperator(FunctionOperator):
    """Runs a user function under the key of each record.

    Subclasses take the stored keys of a batch from `keys_of` and assign `backend.current_key` before each call; those
    that use timers override `on_event_timer` and `on_processing_timer`.
    """

    backend: KeyedBackend
    timer_service: KeyedTimerService
    # Whether an entry of a timer is (stored key, namespace), or the stored key alone.
    has_timers_in_namespaces = False

    def __init__(self, function: Any, *key_selectors: KeySelector) -> None:
        super().__init__(function)
        self._key_selectors = key_selectors
        self._select_keys = [key_list(method_of(selector, "get_key")) for selector in key_selectors]
        self._hot_keys = HotKeys()
        self._fired_timers = 0

    def setup(self, context: OperatorContext) -> None:
        super().setup(context)
        self.timer_service = KeyedTimerService(self.backend, context.task.clock, self.has_timers_in_namespaces)

    def create_backend(self) -> KeyedBackend:
        task = self.context.task
        # In batch mode there is the state of one key at a time.
        choice = BackendChoice() if task.is_batch else task.backend
        folder = choice.folder_for(task.job_id, self.context.operator_id, task.subtask, task.attempt)
        self.backend = create_backend(choice, task.key_groups, task.clock.now_ms, folder)
        return self.backend

    def open(self) -> None:
        for selector in self._key_selectors:
            if isinstance(selector, Function):
                self.open_function(selector)
        super().open()

    @property
    def number_of_inputs(self) -> int:
        """How many keyed inputs there are."""
        return len(self._key_selectors)

    def keys_of(self, values: list[Any], input_index: int = 0) -> list[Any]:
        """The stored keys of a batch."""
        keys = storage_keys(self._select_keys[input_index](values))
        self._hot_keys.look(keys)
        self.backend.prefetch(keys)
        return keys

    def hottest_key(self) -> dict[str, Any]:
        return self._hot_keys.hottest()

    def metrics(self) -> dict[str, Any]:
        return {**super().metrics(), "numFiredTimers": self._fired_timers}

    def process_watermark(self, watermark: int) -> None:
        """Fires timers, then passes the watermark on."""
        self.advance_event_time(watermark)
        self.output.emit_watermark(watermark)

    def advance_event_time(self, watermark: int) -> None:
        """Fires the event-time timers that are due, and sends their results."""
        self.input_watermark = self.timer_service.watermark = watermark
        self._fired_timers += self.timer_service.event_timers.fire(watermark, self.on_event_timer)
        self.results.send()

    def on_processing_time(self, now_ms: int) -> None:
        """Fires the processing-time timers that are due, and sends their results."""
        self._fired_timers += self.timer_service.processing_timers.fire(now_ms, self.on_processing_timer)
        self.results.send()

    def next_wakeup_ms(self) -> int | None:
        return self.timer_service.processing_timers.next_time()

    def on_event_timer(self, time: int, entry: Any) -> None:
        """An event-time timer is due; `entry` says whose."""

    def on_processing_timer(self, time: int, entry: Any) -> None:
        """A processing-time timer is due; `entry` says whose."""

    def key_of_timer(self, entry: Any) -> Any:
        """The stored key in a timer's entry."""
        return entry[0] if self.has_timers_in_namespaces else entry

    def finish_key(self, key: Any) -> None:
        """In batch mode, the current key has no more records: fires all its timers and forgets its state."""
        self.advance_event_time(MAX_WATERMARK)
        self.on_processing_time(MAX_WATERMARK)
        # For the next key event time begins anew.
        self.timer_service.watermark = MIN_WATERMARK
        self.backend.drop_key(key)

    def end_input(self) -> None:
        """Fires the processing-time timers that are due; as in Flink, later ones never fire."""
        self.on_processing_time(self.context.task.clock.now_ms())

    def end_epoch(self) -> None:
        """Lets go of what is not needed any more."""
        self.backend.prune()

    def prepare_snapshot(self, checkpoint_id: int) -> None:
        super().prepare_snapshot(checkpoint_id)
        self.backend.prepare_snapshot(checkpoint_id)

    def snapshot_keyed(self) -> Iterator[tuple[int, GroupPart]]:
        """State and timers by key group, in chunks; what it yields is still in use."""
        yield from self.snapshot_timers()
        yield from self.snapshot_state()

    def snapshot_timers(self) -> Iterator[tuple[int, GroupPart]]:
        key_groups = self.context.task.key_groups
        event = self.timer_service.event_timers.snapshot(key_groups, self.key_of_timer)
        processing = self.timer_service.processing_timers.snapshot(key_groups, self.key_of_timer)
        for group in sorted({*event, *processing}):
            yield group, GroupPart({}, event.get(group, []), processing.get(group, []))

    def snapshot_state(self) -> Iterator[tuple[int, GroupPart]]:
        """State by key group, in chunks; operators that keep state outside the backend override it."""
        return self.backend.snapshot_parts()

    def restore_keyed(self, parts: Iterable[tuple[int, GroupPart]]) -> None:
        """Takes back the key groups of this subtask, chunk by chunk."""
        self.backend.restore(self._with_timers_restored(parts))

    def _with_timers_restored(self, parts: Iterable[tuple[int, GroupPart]]) -> Iterator[tuple[int, GroupPart]]:
        for group, part in parts:
            self.timer_service.event_timers.restore(part.event_timers)
            self.timer_service.processing_timers.restore(part.processing_timers)
            yield group, part

    def state_types(self) -> dict[str, str]:
        return {**super().state_types(), **self.backend.types.all()}

    def restore_types(self, types: Mapping[str, str]) -> None:
        super().restore_types(types)
        self.backend.types.restore(types)

    def native_files(self) -> tuple[LocalFile, ...]:
        return self.backend.native_files()

    def restore_native(self, folders: Sequence[str], groups: Container[int]) -> None:
        self.backend.restore_native(folders, groups)

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        self.backend.notify_checkpoint_complete(checkpoint_id)
        super().notify_checkpoint_complete(checkpoint_id)

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:
        self.backend.notify_checkpoint_aborted(checkpoint_id)
        super().notify_checkpoint_aborted(checkpoint_id)

    def close(self) -> None:
        """Closes functions, then the backend."""
        try:
            super().close()
        finally:
            self.backend.close()
