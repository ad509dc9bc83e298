"""Operators for tables: they work on columns."""
