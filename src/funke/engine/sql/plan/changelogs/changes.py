"""Changelog modes of plan nodes, and the settings that decide how changes are computed."""

from __future__ import annotations

from dataclasses import dataclass

from funke.engine.config.option_values import parse_duration
from funke.engine.types.row import RowKind

__all__ = ["ALL_KINDS", "INSERTS", "RETRACTIONS", "ChangeSettings", "Kinds", "MiniBatch", "ttl_of", "updates"]

Kinds = frozenset[RowKind]

INSERTS: Kinds = frozenset({RowKind.INSERT})
ALL_KINDS: Kinds = frozenset(RowKind)
RETRACTIONS: Kinds = frozenset({RowKind.UPDATE_BEFORE, RowKind.DELETE})


def updates(sends_before: bool, *more: RowKind) -> Kinds:
    """Inserts and updates, with the rows before them or without."""
    before = (RowKind.UPDATE_BEFORE,) if sends_before else ()
    return frozenset({RowKind.INSERT, RowKind.UPDATE_AFTER, *before, *more})


@dataclass(frozen=True)
class MiniBatch:
    """Rows are buffered up to `size`, or until the first one has waited for `latency_ms`."""

    size: int
    latency_ms: int


@dataclass(frozen=True)
class ChangeSettings:
    """The options that decide how changes are computed: mini-batches fold them, idle state expires."""

    is_folded: bool = False
    ttl_ms: int = 0
    mini_batch: MiniBatch | None = None
    is_two_phase: bool = False
    # As in Flink batches forget nothing before their end, whatever hints say.
    keeps_all: bool = False
    # How much longer than needed interval joins keep rows.
    interval_cleanup_ms: int = 0


def ttl_of(hint: str, settings: ChangeSettings) -> int:
    """The time to live of state in milliseconds: that of the hint, else that of the session."""
    if settings.keeps_all:
        return 0
    return parse_duration(hint).to_millis() if hint else settings.ttl_ms
