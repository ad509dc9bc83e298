"""Functions that users wrote, as functions of SQL."""
