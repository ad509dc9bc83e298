"""What columns and state of queries mean, as texts that stay the same when a query is written otherwise."""
