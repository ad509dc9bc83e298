"""The limit: the keyed count as a plain Python loop in one process, over the same files.

python bare_loop.py INPUT
"""

import sys
import time
from pathlib import Path


def count(folder):
    counts = {}
    for path in sorted(Path(folder).glob("part-*.txt")):
        with path.open() as lines:
            for line in lines:
                key, timestamp, value = line.rstrip("\n").split(",")
                row = (key, int(timestamp), float(value))
                counts[row[0]] = total = counts.get(row[0], 0) + 1
                result = (row[0], total)
    return result


if __name__ == "__main__":
    started = time.perf_counter()
    count(sys.argv[1])
    print("SECONDS", time.perf_counter() - started)
