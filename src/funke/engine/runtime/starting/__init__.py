"""How Spark's process starts, and starts fast: from an archive of the classes it loads."""
