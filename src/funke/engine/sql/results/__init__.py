"""Results of statements as people read them."""
