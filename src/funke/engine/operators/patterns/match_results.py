"""What becomes of matches in streams: a function gets each, and those partial matches that have timed out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from funke.engine.operators.functions.pattern_functions import PatternProcessFunction, TimedOutPartialMatchHandler
from funke.engine.operators.operator import OperatorContext
from funke.engine.operators.patterns.pattern_matching import Completed, PatternMatching
from funke.engine.operators.patterns.runs import events_of
from funke.engine.operators.result_batch import ResultBatch
from funke.engine.types.output_tag import OutputTag

__all__ = ["NO_TIMESTAMPS", "MatchContext", "MatchResults"]

NO_TIMESTAMPS = (
    "a pattern in event time needs elements with timestamps; call assign_timestamps_and_watermarks() before key_by(), "
    "or in_processing_time() on the pattern stream"
)


class MatchResults(PatternMatching):
    """Results carry the time of the event that completed the match."""

    watermark_advice = (
        "Give assign_timestamps_and_watermarks() a strategy that generates watermarks, or call in_processing_time() "
        "on the pattern stream"
    )

    def setup(self, context: OperatorContext) -> None:
        self.handles_timeouts = isinstance(self.function, TimedOutPartialMatchHandler)
        super().setup(context)

    def open(self) -> None:
        super().open()
        self._context = MatchContext(self.context.task.clock.now_ms, self.results)

    def handle(self, completed: list[Completed]) -> None:
        """Calls the function."""
        names, context, results, function = self.automaton.names, self._context, self.results, self.function
        for time, run, is_match in completed:
            context.time = time
            context.result_time = time if self.is_event_time else None
            handle = function.process_match if is_match else function.process_timed_out_match
            outputs = handle(events_of(run, names), context)
            if outputs is not None:
                results.take(outputs, context.result_time)
        results.send()


class MatchContext(PatternProcessFunction.Context):
    """One object serves all matches."""

    def __init__(self, now_ms: Callable[[], int], results: ResultBatch) -> None:
        self._now_ms = now_ms
        self._results = results
        self.time = 0
        self.result_time: int | None = None

    def timestamp(self) -> int:
        return self.time

    def current_processing_time(self) -> int:
        return self._now_ms()

    def output(self, output_tag: OutputTag, value: Any) -> None:
        self._results.take_side(output_tag, value, self.result_time)
