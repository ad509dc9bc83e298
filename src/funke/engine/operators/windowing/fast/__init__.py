"""Operators for common windows, much faster than the general one, with the same results."""
