"""From a graph and its settings to a job that can run."""
