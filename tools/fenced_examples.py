"""Lets the reference show the examples of docstrings as code: mkdocs.yml names it as an extension of griffe.

Docstrings have examples as the interpreter shows them, which Markdown takes for quotes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import griffe

__all__ = ["FencedExamples", "fenced"]

_PROMPT = ">>> "


class FencedExamples(griffe.Extension):
    """Fences the examples of every docstring."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Called for each object of the package."""
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)


def fenced(docstring: str) -> str:
    """A docstring whose examples are blocks of Markdown; each ends at an empty line, as in a doctest."""
    return "\n".join(_fenced_lines(docstring.splitlines()))


def _fenced_lines(lines: list[str]) -> Iterator[str]:
    is_example = False
    for line in lines:
        if not is_example and line.startswith(_PROMPT):
            is_example = True
            yield '```pycon title="Example"'
        elif is_example and not line:
            is_example = False
            yield "```"
        yield line
    if is_example:
        yield "```"
