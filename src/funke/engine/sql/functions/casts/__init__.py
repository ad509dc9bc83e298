"""CAST: value by value, and on whole columns."""
