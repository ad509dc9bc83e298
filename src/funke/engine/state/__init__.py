"""State of keys and operators: what users declare, the handles they get, and the backends that keep it."""
