"""The user functions that work with a context: timers, state, windows, broadcast state and asynchronous calls."""
