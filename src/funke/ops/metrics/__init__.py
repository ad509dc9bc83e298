"""Metrics of jobs under Flink's names, and their reporters."""
