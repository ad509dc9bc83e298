"""Metrics of jobs under Flink's names, and who they are told to."""
