"""What is shown of a job: one view by ids, and its metrics."""
