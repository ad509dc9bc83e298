"""Type information: what a stream carries, and how Python, Arrow and Spark values fit it."""
