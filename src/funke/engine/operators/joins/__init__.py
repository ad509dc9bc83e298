"""Joins of two keyed streams: by an interval of time, or within the same window."""
