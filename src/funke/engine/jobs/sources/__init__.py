"""The sources of a running job in the driver: which subtask has which splits."""
