"""Operators that call a function for each record, on streams without keys or with two inputs."""
