"""Windows with fixed ends: aggregates by slice, put together when a window ends."""
