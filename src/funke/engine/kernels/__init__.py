"""Compiled kernels: small loops over arrays that NumPy cannot do at once, and the indexes that are built of them."""
