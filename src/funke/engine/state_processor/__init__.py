"""State Processor: reads savepoints and checkpoints as data, and makes savepoints of data."""

from __future__ import annotations
