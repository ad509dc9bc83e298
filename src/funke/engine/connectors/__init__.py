"""Sources and sinks: one folder or file per system, behind two small interfaces (source.py, sink.py)."""
