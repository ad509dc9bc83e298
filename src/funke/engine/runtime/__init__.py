"""Carries a plan on Spark: slots, blocks, streams and epochs. The only part that knows Spark."""
