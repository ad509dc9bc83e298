"""Tables that are asked for the rows of some keys: what a lookup join needs of a connector, and caches."""
