"""The source: an enumerator that has tables read in parts and then the log piece by piece, and its reader."""

from __future__ import annotations

from typing import Generic, TypeVar

from funke.engine.connectors.change_capture.settings import CaptureSettings
from funke.engine.connectors.source import Source

__all__ = ["ChangeSource"]

S = TypeVar("S", bound=CaptureSettings)


class ChangeSource(Source, Generic[S]):
    """Reads tables and their changes; with the start mode `snapshot`, the tables alone."""

    def __init__(self, settings: S) -> None:
        self._settings = settings
        self.is_bounded = settings.is_bounded
        if not settings.is_parallel:
            self.fixed_parallelism = 1
