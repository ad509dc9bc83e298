"""Kafka by its client library: what to read and write, offsets, transactions."""

from __future__ import annotations
