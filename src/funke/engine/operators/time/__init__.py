"""Event time and processing time in operators: timestamps, watermarks, timers, clocks."""
