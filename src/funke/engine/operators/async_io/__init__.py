"""Runs asynchronous functions: many requests at a time, results in order or as they come."""
