"""Operators of aggregates by key."""
