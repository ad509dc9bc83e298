"""The sink that keeps nothing."""

from __future__ import annotations

from funke.datastream.connectors.base import Sink
from funke.engine.connectors.discard import DiscardSink

__all__ = ["DiscardingSink"]


class DiscardingSink(Sink):
    """Takes elements and forgets them; for measuring everything that comes before it."""

    def __init__(self) -> None:
        super().__init__(DiscardSink())
