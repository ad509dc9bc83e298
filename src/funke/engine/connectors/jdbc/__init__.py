"""Databases that are reached by a JDBC URL, through Python's own drivers."""

from __future__ import annotations
