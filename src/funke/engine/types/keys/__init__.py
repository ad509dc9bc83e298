"""Hashes of keys and key groups, the same on every machine."""
