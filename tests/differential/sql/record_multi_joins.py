"""Record what the reference gives for random chains of joins that share a key, as one operator, change by change.

    PYFLINK_PYTHON=/path/to/pyflink/bin/python python tests/differential/sql/record_multi_joins.py
    … record_multi_joins.py again file-of-queries

The golden file has the form of those of `record_joins.py`.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

from random_joins import SIDES, Writer, random_rows
from record_joins import AT_ONCE, answered, record_again
from recorded_form import write_lines
from reference_session import run_in_reference

FILE = "sql_multi_joins.jsonl.gz"
SEED = 11
QUERIES = 180
ENABLED = {"table.optimizer.multi-join.enabled": "true"}


def random_chains(seed: int, count: int) -> Iterator[dict[str, Any]]:
    """Inner and left joins of three tables by their ids, some with more conditions."""
    random = Random(seed)
    for _ in range(count):
        writer = Writer(random)
        one, two, three = map(writer.source, random.sample(SIDES, 3))
        text = one.text
        for own, before in ((two, [one]), (three, [one, two])):
            conditions = [f"{writer.pick(*before).alias}.id = {own.alias}.id"]
            if writer.chance(0.25):
                other = writer.pick(*before)
                conditions.append(writer.pick(f"{other.alias}.v < {own.alias}.v", f"{other.alias}.k = {own.alias}.k"))
            text += f" {writer.pick('JOIN', 'LEFT JOIN')} {own.text} ON {' AND '.join(conditions)}"
        yield {"query": f"SELECT {writer.items(one, two, three)} FROM {text}", "order": "chains"}


def main() -> int:
    answer = run_in_reference(__file__, sys.argv[1:])
    if answer is not None:
        return answer
    rows, entries = random_rows(SEED), list(random_chains(SEED, QUERIES))
    with tempfile.TemporaryDirectory() as folder, (Path(folder) / "printed").open("w+") as printed:
        # The reference prints rows to the output that it was started with.
        os.dup2(printed.fileno(), 1)
        if sys.argv[1:2] == ["again"]:
            record_again(FILE, Path(sys.argv[2]).read_text().splitlines(), Path(printed.name), ENABLED, has_plan=True)
            return 0
        for start in range(0, len(entries), AT_ONCE):
            part = entries[start : start + AT_ONCE]
            answered(rows, part, Path(printed.name), has_plan=True, settings=ENABLED)
            print(start, file=sys.stderr, flush=True)
            write_lines(FILE, [{"rows": rows}, *entries[: start + AT_ONCE]])
    return 0


if __name__ == "__main__":
    sys.exit(main())
