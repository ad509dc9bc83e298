"""What PyFlink programs import from its util package."""

from __future__ import annotations
