"""What jobs measured in the last hour."""
