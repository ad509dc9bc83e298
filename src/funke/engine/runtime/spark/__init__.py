"""What needs Spark itself: the session, tasks, input that Spark reads, a cluster's master."""
