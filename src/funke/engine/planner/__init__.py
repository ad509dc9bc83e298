"""Turns the program's stream graph into a job graph, and that into segments and levels that Spark can run."""
