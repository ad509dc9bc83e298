"""Keyed state as columns: whole batches read and write the entries of all their keys at once."""
