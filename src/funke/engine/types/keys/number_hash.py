"""The stable hash of arrays of numbers: for each the same as `stable_hash` of it."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["MODULUS", "MODULUS_BITS", "hash_integers", "mixed", "signed"]

# An array of int64.
Hashes = Any

_MASK = 0x7FFFFFFF
# Python's hash of a number is its remainder by this prime.
MODULUS_BITS = 61
MODULUS = (1 << MODULUS_BITS) - 1


def mixed(python_hashes: Hashes) -> Hashes:
    """What `stable_hash` makes of the hash that Python gives to a number."""
    product = python_hashes.view(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    product ^= product >> np.uint64(29)
    return (product >> np.uint64(16) & np.uint64(_MASK)).astype(np.int64)


def signed(magnitudes: Hashes, is_negative: Hashes) -> Hashes:
    """Python's hashes of numbers, from their absolute values' remainders."""
    hashes = magnitudes.view(np.int64)
    hashes = np.where(is_negative, -hashes, hashes)
    hashes[hashes == -1] = -2  # which Python keeps for errors
    return hashes


def hash_integers(numbers: Any) -> Hashes:
    """The hashes of integers of any width."""
    if numbers.dtype == np.uint64:
        return mixed((numbers % np.uint64(MODULUS)).view(np.int64))
    wide = numbers.astype(np.int64)
    is_negative = wide < 0
    # The smallest number has no counterpart: its bits are its absolute value, without a sign.
    magnitudes = np.where(is_negative, -wide, wide).view(np.uint64)
    return mixed(signed(magnitudes % np.uint64(MODULUS), is_negative))
