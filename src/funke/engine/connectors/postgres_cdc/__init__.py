"""Changes of PostgreSQL's tables: first the rows that are there, then what the log says, with no seam between."""

from __future__ import annotations
