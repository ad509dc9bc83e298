"""Executes statements: they change catalogs, settings and modules, or become plans of jobs."""
