"""Operators that keep the first rows of keys, or sort rows."""
