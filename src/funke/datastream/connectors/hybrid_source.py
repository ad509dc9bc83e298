"""Sources that are read one after the other: PyFlink's builder, kept for the connector to come."""

from __future__ import annotations

from funke.datastream.connectors.base import Source
from funke.engine.errors import UnsupportedFeatureError

__all__ = ["HybridSource", "HybridSourceBuilder"]


class HybridSource(Source):
    """Reads several sources one after the other."""

    @staticmethod
    def builder(first_source: Source) -> HybridSourceBuilder:
        """Start with the source that is read first."""
        return HybridSourceBuilder(first_source)


class HybridSourceBuilder:
    """Collects the sources in the order in which they are read."""

    def __init__(self, first_source: Source) -> None:
        self.sources = [first_source]

    def add_source(self, source: Source) -> HybridSourceBuilder:
        """Read `source` after those before it."""
        self.sources.append(source)
        return self

    def build(self) -> HybridSource:
        """Reject: the connector does not work yet."""
        raise UnsupportedFeatureError("Hybrid source", "sources cannot be read one after the other yet")
