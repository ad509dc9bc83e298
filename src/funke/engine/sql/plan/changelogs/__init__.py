"""Changelog modes and upsert keys, and the nodes that change them."""
