"""Tables of statements: their columns, changes of them, and the relations that read them."""
