"""The coordinator of a source that Spark reads: a whole DataFrame, or one micro-batch, per epoch."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from funke.engine.connectors.source import ReadOutcome, Split
from funke.engine.jobs.sources.source_coordinator import SourceCoordinator
from funke.engine.operators.source import ReadCommand, ReadReport


@dataclass
class SparkSourceCoordinator(SourceCoordinator):
    """Gives every subtask an order; the rows reach those that Spark has a partition for."""

    frame: Any = None

    def commands(self, splits: list[Split], deadline_ms: int | None = None) -> list[ReadCommand]:
        """Orders without splits, nor an end to them: the rows of `frame` are read whole."""
        self.frame = splits[0].payload if splits else None
        return super().commands([])

    def accept(self, subtask: int, report: ReadReport) -> None:
        """Takes what a subtask reported; the enumerator hears once that the epoch is over."""
        super().accept(subtask, replace(report, outcomes=()))
        # All reports of an epoch come together; a DataFrame without partitions has none with an outcome.
        if self.frame is not None:
            self.frame = None
            self.enumerator.report(ReadOutcome(Split("spark", None, is_last=False), report.records))
