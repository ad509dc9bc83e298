"""Tables in databases."""
