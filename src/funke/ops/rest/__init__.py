"""Flink's REST interface, version 1: jobs and the cluster as JSON over HTTP."""
