"""The loop of deduplication: each key has a slot with the number of its row and the words that it is sorted by."""

from __future__ import annotations

from funke.engine.kernels.kernel import Int64s, UInt8s, kernel
from funke.engine.kernels.rank_rows import compared

__all__ = ["ENTERED", "GONE", "SENT", "STEP_WIDTH", "keep_rows"]

# Places in `counters`.
ENTERED, GONE, SENT = range(3)
# A step: the row before, the row after it (-1: there is none), and the row of the input.
STEP_WIDTH = 3


@kernel
def keep_rows(
    takes_in: UInt8s,
    keys: Int64s,
    words: Int64s,
    count: int,
    first_row: int,
    word_count: int,
    has_strings: int,
    has_order: int,
    wins_ties: int,
    keeps_first: int,
    adds_all: int,
    slots: Int64s,
    offsets: Int64s,
    strings: UInt8s,
    counters: Int64s,
    entered: Int64s,
    steps: Int64s,
) -> None:
    """Takes rows in, or back; rows get numbers from `first_row` on: those that enter, or all."""
    for index in range(count):
        slot = keys[index] * (1 + word_count)
        old_row = slots[slot]
        row = first_row + (index if adds_all != 0 else counters[ENTERED])
        if takes_in[index] == 0:
            if old_row < 0:
                continue
            row = -1
        else:
            if old_row >= 0 and keeps_first != 0:
                continue
            if old_row >= 0 and has_order != 0:
                at = index * word_count
                side = compared(words, at, row, slots, slot, word_count, has_strings, offsets, strings)
                if side > 0 or (side == 0 and wins_ties == 0):
                    continue
            for each in range(word_count):
                slots[slot + 1 + each] = words[index * word_count + each]
            entered[counters[ENTERED]] = index
            counters[ENTERED] += 1
        slots[slot] = row
        if old_row >= 0:
            counters[GONE] += 1
        step = counters[SENT] * STEP_WIDTH
        steps[step] = old_row
        steps[step + 1] = row
        steps[step + 2] = index
        counters[SENT] += 1
