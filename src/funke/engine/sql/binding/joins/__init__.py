"""The meaning of joins: regular, lookup, temporal, snapshot and lateral ones, and their hints."""
