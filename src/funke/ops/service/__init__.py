"""The service: takes programs, runs each in a driver process of its own, and serves the interface."""
