"""Queries over bounded tables as DataFrames of Spark: it exchanges, sorts and spills, our kernels compute."""
