"""Formats of tables: their options, and what they read and write files with."""
