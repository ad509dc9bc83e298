"""State whose entries expire."""
