"""Collections in the accumulator of an aggregate function."""

from __future__ import annotations

from funke.engine.operators.functions.data_views import DataView, K, ListView, MapView, T, V

__all__ = ["DataView", "ListView", "MapView", "K", "T", "V"]
