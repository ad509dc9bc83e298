"""File and message formats: CSV, JSON, Parquet, ORC and Avro."""

from __future__ import annotations
