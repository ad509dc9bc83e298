"""Flink's rules in plain Python: operators over small protocols for state, timers, clock and output. No Spark here."""
