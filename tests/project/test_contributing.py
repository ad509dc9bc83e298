"""CONTRIBUTING.md names files that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
# Paths from the root, in backquotes; those with a placeholder are patterns of names.
NAMED = sorted(set(re.findall(r"`((?:src|tests|tools|docs)/[\w./-]+)`", PAGE)))


@pytest.mark.parametrize("path", NAMED)
def test_a_named_file_exists(path: str) -> None:
    assert (ROOT / path).exists()


@pytest.mark.parametrize(
    ("heading", "count"),
    [
        ("Add a scalar SQL function: 2 files and a test", 2),
        ("Add a table connector: 3 files and a test", 3),
        ("Add a plan node: 4 files and a test", 4),
        ("Add a REST page: 1 file and a test", 1),
    ],
)
def test_a_recipe_names_as_many_files_as_it_says(heading: str, count: int) -> None:
    """Each step is a file; those behind the last one that is part of the product are tests."""
    section = PAGE.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    steps = re.findall(r"^\d+\. (.*)$", section, re.MULTILINE)
    assert len([step for step in steps if "tests/" not in step.partition(":")[0]]) == count
