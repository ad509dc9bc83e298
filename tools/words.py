"""Keeps retired words out of names: those of the tables in docs/glossary.md.

    python tools/words.py

A name is split at underscores and capital letters, so `take_news` and `CheckpointNews` both hold `news`. Participles
are rejected only as the whole name of something that a module defines.
"""

from __future__ import annotations

import ast
import builtins
import io
import re
import sys
import tokenize
from collections.abc import Iterator, Mapping
from pathlib import Path

__all__ = ["defined_names", "parts_of", "problems_of", "words_below"]

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
# Names in stored state and in JSON that a command prints cannot change.
_FIXED_PARTICIPLES = {
    "src/funke/engine/connectors/kafka/enumerator.py": frozenset({"known"}),
    "src/funke/engine/connectors/python_source.py": frozenset({"known"}),
    "src/funke/engine/state_processor/state_source.py": frozenset({"found", "wanted"}),
    "src/funke/ops/cli/doctor.py": frozenset({"found"}),
}
_ROW = re.compile(r"^\| `(?P<old>\w+)` \| (?P<new>.+?) \|$", re.MULTILINE)
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def words_below(heading: str, glossary: str) -> dict[str, str]:
    """The words of the table below a heading, and what to write instead."""
    _, _, section = glossary.partition(f"\n## {heading}\n")
    return {row["old"]: row["new"] for row in _ROW.finditer(section.partition("\n## ")[0])}


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


def defined_names(source: str) -> Iterator[tuple[int, str]]:
    """Lines of a module, and the variables, parameters, attributes, functions and classes that it defines there."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.attr
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.lineno, node.name


def main() -> int:
    glossary = (ROOT / "docs" / "glossary.md").read_text("utf-8")
    retired, participles = words_below("Retired words", glossary), words_below("Participles", glossary)
    if not (retired and participles):
        print("docs/glossary.md has no tables of retired words and participles")
        return 1
    modules = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]
    count = 0
    for path in modules:
        name = path.relative_to(ROOT)
        allowed = _FIXED_NAMES.get(str(name), frozenset())
        source = path.read_text("utf-8")
        problems = [(1, f"the file's name: '{part}' is retired") for part in parts_of(path.stem) if part in retired]
        problems += problems_of(source, retired, allowed)
        fixed = _FIXED_PARTICIPLES.get(str(name), frozenset())
        for line, each in defined_names(source):
            word = each.strip("_")
            if word in participles and word not in fixed:
                problems.append((line, f"'{each}' is not a noun; write: {participles[word]}"))
        for line, problem in problems:
            print(f"{name}:{line}: {problem}")
            count += 1
    print(f"words: {len(modules)} modules, {count or 'no'} retired names")
    return int(count > 0)


if __name__ == "__main__":
    sys.exit(main())
