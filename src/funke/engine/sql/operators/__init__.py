"""Operators that queries become."""
