"""From what was asked for to what it means: names become columns, calls become functions, everything has a type."""
