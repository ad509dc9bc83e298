"""Functions of strings: parts, patterns, hashes."""
