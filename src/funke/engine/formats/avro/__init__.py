"""Avro: schemas, container files, single messages, and Parquet files with an Avro schema.

`fastavro` is loaded when the first schema is parsed, not with these modules.
"""

from __future__ import annotations
