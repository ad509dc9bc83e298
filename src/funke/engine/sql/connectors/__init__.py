"""Connectors of tables, which are found by the option `connector`."""
