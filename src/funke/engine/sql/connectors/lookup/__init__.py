"""Tables that can be asked for the rows of keys: the interface for lookup joins, and caches."""
