"""What about a job needs a person."""
