"""Names and expressions of Flink 1.x."""
