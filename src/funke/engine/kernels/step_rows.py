"""The loops of OVER by values: rows of a key stand sorted in a run of slots, and each that comes or goes is a step.

Slots, `heads` and runs are those of Top-N (see `rank_rows`); every slot has what identifies its row. Steps of a chunk
stand beside the partitions as they were before it; from both `copy_images` makes the partitions as they are after each.
"""

from __future__ import annotations

from funke.engine.kernels.kernel import Int64s, UInt8s, kernel
from funke.engine.kernels.rank_rows import (
    ENTERED,
    GONE,
    NEEDED_SLOTS,
    SENT,
    compared,
    has_room,
    move_back,
    move_forward,
    position_of,
)

__all__ = [
    "COUNTERS",
    "ENTERED",
    "KNOWN",
    "NEEDED_KNOWN",
    "NEEDED_SLOTS",
    "PARTITIONS",
    "PARTITION_WIDTH",
    "SENT",
    "SIZE",
    "STEP_WIDTH",
    "copy_images",
    "step_rows",
]

# Indexes of `counters`, behind those of Top-N: partitions that have steps, their rows, the rows of all images.
PARTITIONS, KNOWN, NEEDED_KNOWN, SIZE = range(6, 10)
COUNTERS = 10
# A partition: its key, where its rows stand, how many these are, how many in front of its images are left out, how many
# behind them, how many steps it has, how many rows its images have.
PARTITION_WIDTH = 7
# A step: its partition, the first row whose result may change, how many these are from it on, the position of the row
# that comes or goes, the number of the row that comes (-1: one goes), the row of the input, and how many rows there are
# after it.
STEP_WIDTH = 7
_NEVER = 1 << 62


@kernel
def step_rows(  # noqa: PLR0912, PLR0915 - its parts share too many numbers
    takes_in: UInt8s,
    keys: Int64s,
    words: Int64s,
    identities: Int64s,
    begin: int,
    count: int,
    first_row: int,
    word_count: int,
    has_strings: int,
    adds_all: int,
    is_rows: int,
    has_prefixes: int,
    preceding: int,
    most_size: int,
    heads: Int64s,
    slots: Int64s,
    most_slots: int,
    free_runs: Int64s,
    counters: Int64s,
    offsets: Int64s,
    strings: UInt8s,
    partition_of: Int64s,
    partitions: Int64s,
    earlier_rows: Int64s,
    most_known: int,
    entered: Int64s,
    steps: Int64s,
) -> int:
    """Takes rows in, or back, from one on; returns the row at which there is no room to go on, or a chunk is full.

    Results are those of all rows up to each, or of it and so many `preceding` ones (-1: of all). With `has_prefixes`
    they go on from a result of the rows that all images have in front.
    `earlier_rows` gets the numbers of the rows of partitions as they were before. Rows get numbers from `first_row` on:
    those that enter, or all.
    """
    identity_at = 1 + word_count
    width = identity_at + 1
    for index in range(begin, count):
        key = keys[index]
        head = 3 * key
        length = heads[head + 1]
        if counters[SIZE] > most_size:
            return index
        if partition_of[key] < 0 and counters[KNOWN] + length > most_known:
            counters[NEEDED_KNOWN] = length
            return index
        if takes_in[index] != 0 and not has_room(length, head, width, heads, slots, most_slots, free_runs, counters):
            return index
        row = first_row + (index if adds_all != 0 else counters[ENTERED])
        at, base = index * word_count, heads[head] * width

        position = position_of(words, at, row, slots, base, length, width, word_count, has_strings, offsets, strings)
        start = position
        if is_rows == 0 or takes_in[index] == 0:
            while (
                start > 0
                and compared(
                    words, at, row, slots, base + (start - 1) * width, word_count, has_strings, offsets, strings
                )
                == 0
            ):
                start -= 1
        if takes_in[index] == 0:
            # The first row that is the same goes; one that is not there was forgotten.
            last = start
            while last < position and slots[base + last * width + identity_at] != identities[index]:
                last += 1
            if last == position:
                continue
            position = last

        number = partition_of[key]
        if number < 0:
            number = counters[PARTITIONS]
            counters[PARTITIONS] += 1
            partition_of[key] = number
            partition = number * PARTITION_WIDTH
            partitions[partition] = key
            partitions[partition + 1] = counters[KNOWN]
            partitions[partition + 2] = length
            partitions[partition + 3] = partitions[partition + 4] = _NEVER
            partitions[partition + 5] = partitions[partition + 6] = 0
            for each in range(length):
                earlier_rows[counters[KNOWN] + each] = slots[base + each * width]
            counters[KNOWN] += length

        first = start if is_rows == 0 else position
        if takes_in[index] != 0:
            move_back(slots, base, position, length, width)
            slot = base + position * width
            slots[slot] = row
            for each in range(word_count):
                slots[slot + 1 + each] = words[at + each]
            slots[slot + identity_at] = identities[index]
            entered[counters[ENTERED]] = index
            counters[ENTERED] += 1
            length += 1
        else:
            row = -1
            move_forward(slots, base, position, length - 1, width)
            counters[GONE] += 1
            length -= 1
        heads[head + 1] = length

        step = counters[SENT] * STEP_WIDTH
        steps[step] = number
        steps[step + 1] = first
        changed, before = length - first, first if has_prefixes != 0 else 0
        if preceding >= 0:
            # A row that comes is in its own frame and in those of so many behind it.
            changed = min(changed, preceding + (1 if takes_in[index] != 0 else 0))
            before = max(first - preceding, 0)
        steps[step + 2] = changed
        steps[step + 3] = position
        steps[step + 4] = row
        steps[step + 5] = index
        steps[step + 6] = length
        counters[SENT] += 1

        partition = number * PARTITION_WIDTH
        front = min(partitions[partition + 3], before)
        behind = min(partitions[partition + 4], length - first - changed)
        partitions[partition + 3], partitions[partition + 4] = front, behind
        partitions[partition + 5] += 1
        counters[SIZE] -= partitions[partition + 6]
        partitions[partition + 6] = partitions[partition + 5] * (length - front - behind)
        counters[SIZE] += partitions[partition + 6]
    return count


@kernel
def copy_images(
    partitions: Int64s,
    partition_count: int,
    steps: Int64s,
    step_count: int,
    known_count: int,
    latest: Int64s,
    before: Int64s,
    starts: Int64s,
    lengths: Int64s,
    rows: Int64s,
) -> int:
    """The partitions before all steps, and after each, without what all of them leave out; how many rows they have.

    Rows have numbers in the order of `earlier_rows`, and those that come follow them. `before` gets each step's image
    before it.
    """
    total = 0
    for number in range(partition_count):
        partition = number * PARTITION_WIDTH
        begin, front = partitions[partition + 1], partitions[partition + 3]
        starts[number] = total
        lengths[number] = partitions[partition + 2] - front - partitions[partition + 4]
        latest[number] = number
        for each in range(lengths[number]):
            rows[total + each] = begin + front + each
        total += lengths[number]
    fresh = known_count
    for index in range(step_count):
        step = index * STEP_WIDTH
        number = steps[step]
        image, old = partition_count + index, latest[number]
        before[index] = old
        latest[number] = image
        position = steps[step + 3] - partitions[number * PARTITION_WIDTH + 3]
        source, length = starts[old], lengths[old]
        starts[image] = total
        for each in range(position):
            rows[total + each] = rows[source + each]
        if steps[step + 4] >= 0:
            rows[total + position] = fresh
            fresh += 1
            for each in range(position, length):
                rows[total + each + 1] = rows[source + each]
            length += 1
        else:
            for each in range(position + 1, length):
                rows[total + each - 1] = rows[source + each]
            length -= 1
        lengths[image] = length
        total += length
    return total
