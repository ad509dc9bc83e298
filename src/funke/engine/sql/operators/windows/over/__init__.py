"""OVER windows: running aggregates of a key's rows, by time or by values."""
