"""The meaning of OVER, in streams and in batches, and of row numbers."""
