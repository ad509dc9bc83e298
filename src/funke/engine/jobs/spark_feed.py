"""The feed of a source that Spark reads: a whole DataFrame, or one micro-batch, per epoch."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from funke.engine.connectors.source import ReadOutcome, Split
from funke.engine.jobs.source_feed import SourceFeed
from funke.engine.runtime.ingest import IngestOrder
from funke.engine.runtime.results import IngestReport


@dataclass
class SparkFeed(SourceFeed):
    """Gives every subtask an order; the rows reach those that Spark has a partition for."""

    source: Any  # one of the sources in engine.connectors.spark
    frame: Any = None

    def orders(self, splits: list[Split], is_final: bool, deadline_ms: int | None = None) -> list[IngestOrder]:
        """Orders without splits: the rows come through the DataFrame in `frame`."""
        self.frame = splits[0].payload if splits else None
        return super().orders([], is_final)

    def accept(self, report: IngestReport) -> None:
        """Takes what a subtask reported; the enumerator hears once that the epoch is over."""
        super().accept(replace(report, outcomes=()))
        # All reports of an epoch come together; a DataFrame without partitions has none with an outcome.
        if self.frame is not None:
            self.frame = None
            self.enumerator.report(ReadOutcome(Split("spark", None, is_last=False), report.records))
