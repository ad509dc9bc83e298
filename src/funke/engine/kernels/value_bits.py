"""The loop of DISTINCT: pairs of a group and a value in an open table, with a bit for each call that has had it."""

from __future__ import annotations

from funke.engine.kernels.kernel import Int64s, kernel

__all__ = ["take_values"]


@kernel
def take_values(
    groups: Int64s,
    values: Int64s,
    hashes: Int64s,
    bits: Int64s,
    begin: int,
    count: int,
    slot_groups: Int64s,
    slot_values: Int64s,
    slot_bits: Int64s,
    mask: int,
    most_taken: int,
    counters: Int64s,
    new_bits: Int64s,
) -> int:
    """For each row the bits that its pair has not had; returns the row at which the table is too full to go on.

    A slot without bits is empty. `counters` are the slots that are taken.
    """
    for row in range(begin, count):
        mine = bits[row]
        new_bits[row] = 0
        if mine != 0:
            slot = hashes[row] & mask
            while slot_bits[slot] != 0 and (slot_values[slot] != values[row] or slot_groups[slot] != groups[row]):
                slot = (slot + 1) & mask
            before = slot_bits[slot]
            if before == 0:
                if counters[0] >= most_taken:
                    return row
                counters[0] += 1
                slot_groups[slot] = groups[row]
                slot_values[slot] = values[row]
            slot_bits[slot] = before | mine
            new_bits[row] = mine & ~before
    return count
