"""The file sink: part files in buckets, hidden until they are committed."""

from __future__ import annotations
