"""Messages as rows of tables, many at a time: what brokers carry, and lines of files."""
