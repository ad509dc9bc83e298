"""Retired words are found in names, and stay out of the code."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tools.words import defined_names, parts_of, problems_of, words_below

ROOT = Path(__file__).resolve().parents[2]


def test_names_are_split_at_underscores_and_capitals() -> None:
    assert parts_of("_on_HTTPNews2") == ["on", "http", "news"]


def test_names_are_looked_at_and_strings_are_not() -> None:
    source = 'def take_news() -> str:\n    """The news."""\n    return "news"  # news\n'
    assert list(problems_of(source, {"news": "notifications"})) == [
        (1, "'take_news': 'news' is retired; write: notifications")
    ]


def test_words_come_from_the_glossary() -> None:
    glossary = (
        "| `old` | x |\n\n## Retired words\n\n| retired | write instead |\n|---|---|\n| `news` | notifications |\n"
    )
    glossary += "\n## Participles\n\n| not a name | write instead |\n|---|---|\n| `given` | arguments |\n"
    assert words_below("Retired words", glossary) == {"news": "notifications"}
    assert words_below("Participles", glossary) == {"given": "arguments"}


def test_names_are_looked_at_where_they_are_defined() -> None:
    source = (
        "class A:\n    def b(self, c):\n        self.d = c.e\n        for f in self.d:\n            print(f.g, h=1)\n"
    )
    assert sorted(defined_names(source)) == [(1, "A"), (2, "b"), (2, "c"), (2, "self"), (3, "d"), (4, "f")]


def test_no_retired_word_is_in_use() -> None:
    check = subprocess.run([sys.executable, "tools/words.py"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert check.returncode == 0, check.stdout
