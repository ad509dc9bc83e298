"""The meaning of queries within expressions: they become joins."""
