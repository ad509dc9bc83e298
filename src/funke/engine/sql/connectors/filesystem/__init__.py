"""Tables in files."""
