"""Physical plan nodes: how a query runs, one node in one file."""
