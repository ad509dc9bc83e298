"""Two streams whose elements are joined, or grouped together, when they have the same key and lie in the same window.

Both go beyond PyFlink; they have the names of Flink's Java API::

    orders.join(payments).where(order_id).equal_to(order_id).window(assigner).apply(function)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeVar

from funke.datastream.stream_types import OutputType, declared_type
from funke.datastream.windowed_stream import WindowedStream
from funke.engine.errors import ConfigurationError, TypeMismatchError, at_user_line, shown_shortly
from funke.engine.graph.operations import WindowJoin
from funke.engine.operators.functions.join_functions import CoGroupFunction, FlatJoinFunction, JoinFunction
from funke.engine.operators.functions.window_functions import WindowFunction
from funke.engine.operators.joins.tagged_union import TaggedUnion
from funke.engine.operators.joins.window_functions import CoGroupWindow, JoinWindow
from funke.engine.operators.windowing.assigner import WindowAssigner
from funke.engine.operators.windowing.evictor import Evictor
from funke.engine.operators.windowing.trigger import Trigger, to_millis
from funke.engine.types import Duration, Time, TypeInformation
from funke.engine.types.functions import KeySelector

if TYPE_CHECKING:
    from funke.datastream.data_stream import DataStream, KeyedStream

__all__ = ["CoGroupedStreams", "CoGroupedWindows", "JoinedStreams", "JoinedWindows", "TaggedUnion"]

Selector = Callable[..., Any] | KeySelector
_W = TypeVar("_W", bound="_PairedWindows")
_STEPS = ("where", "equal_to", "window", "trigger", "evictor", "allowed_lateness", "apply")


class _Step:
    """One step of the way from two streams to a join; a step that is skipped is named."""

    _next = ""

    def __getattr__(self, name: str) -> NoReturn:
        if name in _STEPS and self._next:
            raise ConfigurationError(at_user_line(f"a join of streams needs {self._next} before {name}()"))
        raise shown_shortly(AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'"))


class _PairedWindows(_Step):
    """Two keyed streams whose elements get into the same windows.

    Assigners, triggers and evictors see the elements of both streams, each as a `TaggedUnion`.
    """

    def __init__(self, first: KeyedStream, second: KeyedStream, window_assigner: WindowAssigner[Any, Any]) -> None:
        self._first = first
        self._second = second
        self._windows = WindowedStream(first, window_assigner)

    def trigger(self: _W, trigger: Trigger[Any, Any]) -> _W:
        """Let a trigger other than the assigner's decide when windows are evaluated."""
        self._windows.trigger(trigger)
        return self

    def evictor(self: _W, evictor: Evictor[Any, Any]) -> _W:
        """Let an evictor remove elements when a window is evaluated."""
        self._windows.evictor(evictor)
        return self

    def allowed_lateness(self: _W, lateness: int | Duration | Time) -> _W:
        """Keep windows for some time (a number means milliseconds) after the watermark has passed them."""
        self._windows.allowed_lateness(_lateness_ms(lateness))
        return self

    def _apply(self, function: WindowFunction[Any, Any, Any, Any], name: str, output_type: OutputType) -> DataStream:
        windows, first, second = self._windows, self._first, self._second
        assigner, trigger = windows._window_assigner, windows._window_trigger
        assert first._key is not None and second._key is not None
        operation = WindowJoin(
            assigner=assigner,
            trigger=assigner.get_default_trigger(first._env) if trigger is None else trigger,
            key_selector=first._key,
            second_key_selector=second._key,
            window_function=function,
            allowed_lateness_ms=windows._allowed_lateness,
            evictor=windows._evictor,
        )
        return first._add(operation, name, declared_type(output_type), second)


class JoinedWindows(_PairedWindows):
    """Windows of two streams whose elements are joined."""

    def apply(
        self,
        function: JoinFunction | FlatJoinFunction | Callable[[Any, Any], Any],
        output_type: OutputType = None,
    ) -> DataStream:
        """Call the function for each pair of elements of both streams with the same key in the same window.

        Elements without a partner give no result. Results carry the last timestamp of their window. A plain callable
        is taken for a JoinFunction: it returns one result.
        """
        if not isinstance(function, (JoinFunction, FlatJoinFunction)) and not callable(function):
            raise TypeError(
                f"apply() needs a JoinFunction, a FlatJoinFunction or a callable, got {type(function).__name__}"
            )
        return self._apply(JoinWindow(function), "Window Join", output_type)


class CoGroupedWindows(_PairedWindows):
    """Windows of two streams whose elements are grouped together."""

    def apply(
        self,
        function: CoGroupFunction | Callable[[list[Any], list[Any]], Iterable[Any] | None],
        output_type: OutputType = None,
    ) -> DataStream:
        """Call the function for each key and window with the elements of both streams, one of which may have none."""
        if not isinstance(function, CoGroupFunction) and not callable(function):
            raise TypeError(f"apply() needs a CoGroupFunction or a callable, got {type(function).__name__}")
        return self._apply(CoGroupWindow(function), "Window CoGroup", output_type)


class EqualTo(_Step, Generic[_W]):
    """Two streams with their keys; `window` says into which windows their elements get."""

    _next = "window(assigner)"

    def __init__(self, first: KeyedStream, second: KeyedStream, windows: type[_W]) -> None:
        self._first = first
        self._second = second
        self._windows = windows

    def window(self, window_assigner: WindowAssigner[Any, Any]) -> _W:
        """Group the elements of both streams into the same windows."""
        return self._windows(self._first, self._second, window_assigner)


class Where(_Step, Generic[_W]):
    """Two streams and the key of the first; `equal_to` gives that of the second."""

    _next = "equal_to(key_selector)"

    def __init__(
        self,
        streams: tuple[DataStream, DataStream],
        key_selector: Selector,
        key_type: TypeInformation | None,
        windows: type[_W],
    ) -> None:
        self._streams = streams
        self._key_selector = key_selector
        self._key_type = key_type
        self._windows = windows

    def equal_to(self, key_selector: Selector, key_type: TypeInformation | None = None) -> EqualTo[_W]:
        """Give the key of the second stream, which must have the type of the first one's."""
        first_type = self._key_type
        if first_type is not None and key_type is not None and first_type != key_type:
            raise TypeMismatchError(at_user_line(f"a join needs keys of one type, got {first_type} and {key_type}"))
        common_type = first_type if key_type is None else key_type
        first, second = self._streams
        keyed = (first.key_by(self._key_selector, common_type), second.key_by(key_selector, common_type))
        return EqualTo(*keyed, self._windows)


class JoinedStreams(_Step):
    """Two streams that are about to be joined; `where` gives the key of the first."""

    _next = "where(key_selector)"

    def __init__(self, stream1: DataStream, stream2: DataStream) -> None:
        self._streams = (stream1, stream2)

    def where(self, key_selector: Selector, key_type: TypeInformation | None = None) -> Where[JoinedWindows]:
        """Give the key of the first stream."""
        return Where(self._streams, key_selector, key_type, JoinedWindows)


class CoGroupedStreams(_Step):
    """Two streams that are about to be grouped together; `where` gives the key of the first."""

    _next = "where(key_selector)"

    def __init__(self, stream1: DataStream, stream2: DataStream) -> None:
        self._streams = (stream1, stream2)

    def where(self, key_selector: Selector, key_type: TypeInformation | None = None) -> Where[CoGroupedWindows]:
        """Give the key of the first stream."""
        return Where(self._streams, key_selector, key_type, CoGroupedWindows)


def _lateness_ms(lateness: int | Duration | Time) -> int:
    return to_millis(lateness) if isinstance(lateness, (Duration, Time)) else lateness
