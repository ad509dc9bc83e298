"""Windowing in plain Python: windows, how elements are assigned to them, and when they fire."""
