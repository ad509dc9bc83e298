"""Files as columns with the types of a table."""
