"""Keeps retired words out of names: those of the table in docs/glossary.md.

    python tools/words.py

A name is split at underscores and capital letters, so `take_news` and `CheckpointNews` both hold `news`.
"""

from __future__ import annotations

import builtins
import io
import re
import sys
import tokenize
from collections.abc import Iterator, Mapping
from pathlib import Path

__all__ = ["parts_of", "problems_of", "retired_words"]

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("src", "tests", "tools", "benchmarks", "examples")
# Names that cannot change: parameters of PyFlink and of libraries, and a field of stored job records.
_STORED = frozenset({"is_refused"})
_FIXED_NAMES = {
    "src/funke/engine/jobs/records/job_record.py": _STORED,
    "src/funke/engine/jobs/records/recovery.py": _STORED,
    "tests/faults/test_damaged_recovery.py": _STORED,
    "tests/unit/ops/service/test_dispatcher.py": _STORED,
    "src/funke/table/expression_members/numbers.py": frozenset({"places"}),
    "tests/unit/sql/functions/casts/test_column_casts.py": frozenset({"places"}),
    "tests/unit/sql/state/test_order_words.py": frozenset({"places"}),
}
_ROW = re.compile(r"^\| `(?P<old>\w+)` \| (?P<new>.+?) \|$", re.MULTILINE)
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def retired_words(glossary: str) -> dict[str, str]:
    """The retired words of the glossary's last table, and what to write instead."""
    _, _, table = glossary.partition("\n## Retired words\n")
    return {row["old"]: row["new"] for row in _ROW.finditer(table)}


def parts_of(name: str) -> list[str]:
    """
    >>> parts_of("CheckpointNews"), parts_of("take_news"), parts_of("_NEWS_S")
    (['checkpoint', 'news'], ['take', 'news'], ['news', 's'])
    """
    return [part.lower() for part in _PART.findall(name)]


def problems_of(
    source: str, retired: Mapping[str, str], allowed: frozenset[str] = frozenset()
) -> Iterator[tuple[int, str]]:
    """Lines of a module with a retired word in a name, and what is wrong there."""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.NAME and token.string not in allowed and not hasattr(builtins, token.string):
            for part in parts_of(token.string):
                if part in retired:
                    yield token.start[0], f"'{token.string}': '{part}' is retired; write: {retired[part]}"


def main() -> int:
    retired = retired_words((ROOT / "docs" / "glossary.md").read_text("utf-8"))
    if not retired:
        print("docs/glossary.md has no table of retired words")
        return 1
    modules = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]
    count = 0
    for path in modules:
        name = path.relative_to(ROOT)
        allowed = _FIXED_NAMES.get(str(name), frozenset())
        found = [(1, f"the file's name: '{part}' is retired") for part in parts_of(path.stem) if part in retired]
        for line, problem in [*found, *problems_of(path.read_text("utf-8"), retired, allowed)]:
            print(f"{name}:{line}: {problem}")
            count += 1
    print(f"words: {len(modules)} modules, {count or 'no'} retired names")
    return int(count > 0)


if __name__ == "__main__":
    sys.exit(main())
