"""What runs, watches and commands jobs from outside."""
