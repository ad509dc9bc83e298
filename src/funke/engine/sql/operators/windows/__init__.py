"""Windows on batches of columns: which rows belong to which windows, and their aggregates."""
