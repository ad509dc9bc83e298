"""Batches of columns: Arrow record batches with row kinds and event times, their rows, and the hashes of their keys."""
