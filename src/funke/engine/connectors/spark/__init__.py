"""Sources and sinks that Spark itself reads and writes."""

from __future__ import annotations
