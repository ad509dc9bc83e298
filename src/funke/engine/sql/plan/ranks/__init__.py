"""Plan nodes of orders: Top-N, deduplication, LIMIT, ORDER BY."""
