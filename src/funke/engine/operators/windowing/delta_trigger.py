"""A trigger that fires when an element is far enough from the one that fired last."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from funke.engine.operators.windowing.evictor import DeltaFunction, to_delta
from funke.engine.operators.windowing.trigger import Trigger, TriggerResult
from funke.engine.operators.windowing.windows import Window
from funke.engine.state.descriptors import ValueStateDescriptor
from funke.engine.state.interfaces import ValueState
from funke.engine.types.information.type_information import PickledBytesTypeInfo, TypeInformation

__all__ = ["DeltaTrigger"]

T = TypeVar("T")


class DeltaTrigger(Trigger[T, Window]):
    """Fires when the distance to the first element, or to the one of the last firing, exceeds a threshold.

    >>> from funke.datastream import StreamExecutionEnvironment
    >>> from funke.datastream.window import DeltaTrigger, GlobalWindows
    >>> env = StreamExecutionEnvironment.get_execution_environment()
    >>> degrees = env.from_collection([20, 21, 25, 26]).key_by(lambda reading: "sensor").window(GlobalWindows.create())
    >>> jumps = degrees.trigger(DeltaTrigger.of(3, lambda old, new: new - old)).reduce(lambda old, new: new)
    >>> list(jumps.execute_and_collect())
    [25]
    """

    def __init__(
        self,
        threshold: float,
        delta_function: DeltaFunction[T] | Callable[[T, T], float],
        type_info: TypeInformation | None = None,
    ) -> None:
        self._threshold = threshold
        self._delta = to_delta(delta_function)
        self._last = ValueStateDescriptor("last-element", type_info or PickledBytesTypeInfo())

    @staticmethod
    def of(
        threshold: float,
        delta_function: DeltaFunction[Any] | Callable[[Any, Any], float],
        type_info: TypeInformation | None = None,
    ) -> DeltaTrigger[Any]:
        """Return a trigger; `delta_function(last, element)` measures the distance."""
        return DeltaTrigger(threshold, delta_function, type_info)

    def on_element(self, element: T, timestamp: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Compare with the element that is remembered."""
        state = cast("ValueState[T]", ctx.get_partitioned_state(self._last))
        last = state.value()
        if last is None:
            state.update(element)
            return TriggerResult.CONTINUE
        if self._delta(last, element) <= self._threshold:
            return TriggerResult.CONTINUE
        state.update(element)
        return TriggerResult.FIRE

    def on_processing_time(self, time: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        return TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        return TriggerResult.CONTINUE

    def on_merge(self, window: Window, ctx: Trigger.OnMergeContext) -> None:
        """Never called: the trigger cannot merge, because two remembered elements cannot become one."""

    def clear(self, window: Window, ctx: Trigger.TriggerContext) -> None:
        ctx.get_partitioned_state(self._last).clear()
