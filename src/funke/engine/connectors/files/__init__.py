"""Reading files: finding them, cutting them into splits, reading the splits."""

from __future__ import annotations
