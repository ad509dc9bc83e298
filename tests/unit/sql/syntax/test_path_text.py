"""Paths are read and written as texts."""

from __future__ import annotations

import pytest

from funke.engine.errors import ConfigurationError
from funke.engine.sql.syntax.path_text import format_path, parse_path


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("f", ("f",)),
        ("cat.db.f", ("cat", "db", "f")),
        ("`my db`.`a.b`", ("my db", "a.b")),
        ("`tick``s`", ("tick`s",)),
        (" a . b ", ("a", "b")),
        ("$x-1", ("$x-1",)),
    ],
)
def test_parts(text: str, parts: tuple[str, ...]) -> None:
    assert parse_path(text) == parts
    assert parse_path(format_path(parts)) == parts


@pytest.mark.parametrize("text", ["", ".", "a.", "a..b", "`open", "a`b`", "a.b.c.d"])
def test_no_path(text: str) -> None:
    with pytest.raises(ConfigurationError):
        parse_path(text)
