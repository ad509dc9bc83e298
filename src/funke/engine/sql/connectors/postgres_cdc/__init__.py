"""Tables of PostgreSQL with their changes."""
