"""Sessions of SQL statements, as the shell and the gateway have them: with jobs that can be listed and stopped."""
