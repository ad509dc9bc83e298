"""JSON and VARIANT."""
