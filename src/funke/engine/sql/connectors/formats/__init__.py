"""Formats of tables: their options, readers and writers."""
