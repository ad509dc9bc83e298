"""Changes of PostgreSQL's tables as tables."""
