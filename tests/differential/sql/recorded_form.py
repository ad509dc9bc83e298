"""The form in which values, and lines of golden files, are kept."""

from __future__ import annotations

import datetime
import gzip
import json
from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path
from typing import Any

GOLDEN = Path(__file__).resolve().parent.parent / "golden"


def plain(value: Any) -> Any:
    """A value as JSON can keep it, so that 1, 1.0, '1' and a decimal 1 are four values."""
    if isinstance(value, Decimal):
        return {"decimal": str(value)}
    if isinstance(value, float):
        return {"float": repr(value)}
    if isinstance(value, (bytes, bytearray)):
        return {"bytes": value.hex()}
    if isinstance(value, (datetime.date, datetime.time)):
        return {type(value).__name__: value.isoformat()}
    if isinstance(value, dict):
        return {"map": sorted([[plain(key), plain(each)] for key, each in value.items()], key=repr)}
    # A row of PyFlink is no tuple.
    if isinstance(value, (list, tuple)) or type(value).__name__ == "Row":
        return [plain(each) for each in value]
    return value


def write_lines(name: str, entries: Iterable[Any]) -> None:
    text = "".join(json.dumps(each, ensure_ascii=False, separators=(",", ":")) + "\n" for each in entries)
    # Without a time of writing, so that the same text gives the same file.
    (GOLDEN / name).write_bytes(gzip.compress(text.encode(), 9, mtime=0))


def read_lines(name: str) -> list[Any]:
    return [json.loads(line) for line in gzip.decompress((GOLDEN / name).read_bytes()).decode().splitlines()]
