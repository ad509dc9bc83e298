"""What is written down about a job, so that it outlives its driver."""
