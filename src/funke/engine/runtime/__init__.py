"""Carries a plan on Spark: ingest tasks, blocks, delivery tasks, slots and epochs. The only part that knows Spark."""
