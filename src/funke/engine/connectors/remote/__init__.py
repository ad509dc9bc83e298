"""File systems of other machines, by URI."""
