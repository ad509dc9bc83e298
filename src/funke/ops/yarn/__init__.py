"""Application mode on YARN: the driver of a program's jobs runs in the application's first container."""
