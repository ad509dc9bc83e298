"""Rows as state: in columns that grow, as bytes, by key and by rank."""
