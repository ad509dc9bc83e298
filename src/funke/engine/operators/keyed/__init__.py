"""Operators on keyed streams: keys, keyed state, and functions over both."""
