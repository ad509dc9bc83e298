"""Operators of joins, and the state of their inputs in memory and in a state backend."""
