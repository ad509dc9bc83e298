"""Statements before names and types are known: the same data for a SQL text and for the Table API."""
