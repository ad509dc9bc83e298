"""Patterns of events: a frozen pattern, its automaton, the runs of a key, and the operator around them."""
