"""Snapshots of slots: how they are taken beside the work, where their files are, and how state is restored."""
