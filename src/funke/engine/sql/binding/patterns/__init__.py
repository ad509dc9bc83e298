"""The meaning of MATCH_RECOGNIZE."""
