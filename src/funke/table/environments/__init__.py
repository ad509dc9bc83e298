"""Parts of table environments: what they hold, and how they run and explain it."""
