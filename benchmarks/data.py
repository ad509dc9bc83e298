"""Makes the input files of the benchmarks, the same every time: lines `key,timestamp,value`, and wide events."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path

ROWS_PER_FILE = 500_000


def text_files(folder: Path, rows: int, keys: int) -> Path:
    """A folder with `rows` lines over `keys` keys, made once; larger sets repeat the same files by hard links."""
    generator = random.Random(keys)

    def line(row: int) -> str:
        key, value = generator.randrange(keys), generator.random() * 100
        return f"key-{key},{1_700_000_000_000 + row * 10},{value:.4f}\n"

    return _files(folder / f"{rows}-rows-{keys}-keys", rows, line)


def event_files(folder: Path, rows: int) -> Path:
    """A folder with `rows` events of an auction house in 14 columns, about 150 bytes each; 46 of 50 are bids."""
    generator = random.Random(14)

    def line(row: int) -> str:
        kind = (0, 1, 1, 1)[row % 50] if row % 50 < 4 else 2
        at = 1_700_000_000_000 + row // 10
        numbers = kind, at, row // 16, row // 40, generator.randrange(2_000_000), 0, at + 10_000
        channel = generator.randrange(10_000)
        url = f"https://www.nexmark.com/{channel:05d}/item.htm"
        return (
            f"{','.join(map(str, numbers))},2023-11-14 22:13:20.{row % 1000:03d},channel-{channel},{url},,,,{row:>24}\n"
        )

    return _files(folder / f"{rows}-events", rows, line)


def _files(target: Path, rows: int, line: Callable[[int], str]) -> Path:
    """A folder with files of the lines that a function makes of numbers."""
    if (target / "_done").exists():
        return target
    target.mkdir(parents=True, exist_ok=True)
    files, per_file = max(1, rows // ROWS_PER_FILE), min(rows, ROWS_PER_FILE)
    count = min(files, 4)
    for number in range(count):
        with (target / f"part-{number:03d}.txt").open("w") as out:
            out.writelines(map(line, range(number * per_file, (number + 1) * per_file)))
    for number in range(count, files):
        link = target / f"part-{number:03d}.txt"
        link.unlink(missing_ok=True)
        os.link(target / f"part-{number % count:03d}.txt", link)
    (target / "_done").touch()
    return target
