"""Operators that change what a changelog says, or check it before a sink."""
