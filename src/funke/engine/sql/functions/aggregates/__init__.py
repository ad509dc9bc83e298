"""Aggregate functions: their types, a body on single rows each, and kernels on the groups of whole batches.

The body is the truth: it takes and gives Python values as the scalar functions do. A kernel keeps the accumulators of
many groups as columns and does the same for all rows of a batch at once; tests hold it against the body.
"""
