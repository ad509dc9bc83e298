"""Ingestion time: an element's event time is the time at which its source was read."""

from __future__ import annotations

import time
from typing import Any

from funke.engine.types.watermark_spec import TimestampAssigner, WatermarkSpec

__all__ = ["INGESTION_TIME", "IngestionTimeAssigner"]


class IngestionTimeAssigner(TimestampAssigner):
    """Reads the machine's clock."""

    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return time.time_ns() // 1_000_000


INGESTION_TIME = WatermarkSpec(kind="monotonous", timestamp_assigner=IngestionTimeAssigner())
