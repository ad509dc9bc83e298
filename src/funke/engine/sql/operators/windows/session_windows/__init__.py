"""Session windows: which are open, and their aggregates."""
