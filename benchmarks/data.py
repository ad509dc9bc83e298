"""Makes the input files of the benchmarks: text lines `key,timestamp,value`, the same every time."""

from __future__ import annotations

import os
import random
from pathlib import Path

ROWS_PER_FILE = 500_000


def text_files(folder: Path, rows: int, keys: int) -> Path:
    """A folder with `rows` lines over `keys` keys, made once; larger sets repeat the same files by hard links."""
    target = folder / f"{rows}-rows-{keys}-keys"
    if (target / "_done").exists():
        return target
    target.mkdir(parents=True, exist_ok=True)
    files, per_file = max(1, rows // ROWS_PER_FILE), min(rows, ROWS_PER_FILE)
    made = min(files, 4)
    generator = random.Random(keys)
    for number in range(made):
        _write(target / f"part-{number:03d}.txt", generator, keys, number * per_file, per_file)
    for number in range(made, files):
        link = target / f"part-{number:03d}.txt"
        link.unlink(missing_ok=True)
        os.link(target / f"part-{number % made:03d}.txt", link)
    (target / "_done").touch()
    return target


def _write(path: Path, generator: random.Random, keys: int, first: int, rows: int) -> None:
    with path.open("w") as out:
        for row in range(first, first + rows):
            key, value = generator.randrange(keys), generator.random() * 100
            out.write(f"key-{key},{1_700_000_000_000 + row * 10},{value:.4f}\n")
