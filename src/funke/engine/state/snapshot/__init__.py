"""What backends write at a checkpoint, and the file it is written to."""
