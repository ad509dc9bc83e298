"""What results and tables say about themselves."""
