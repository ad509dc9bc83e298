"""The connector faker: rows of invented names, addresses and times, described by expressions."""
