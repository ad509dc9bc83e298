"""Plan nodes of joins, and the rules by which a join becomes one of them."""
