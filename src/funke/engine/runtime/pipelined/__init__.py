"""Streaming without epochs: slots live inside one long Spark job and push blocks to each other."""
