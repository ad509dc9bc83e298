"""When checkpoints are taken, what they hold, where they are kept; savepoints."""
