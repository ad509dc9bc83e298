"""Tables and SQL: from a text or a chain of calls to a graph of operators on columns."""
