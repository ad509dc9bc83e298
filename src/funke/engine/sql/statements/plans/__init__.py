"""Statements as plans of jobs: INSERT, EXPLAIN, stored plans."""
