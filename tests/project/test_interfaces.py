"""The pages of paths and commands say what the code does."""

from __future__ import annotations

from pathlib import Path

from funke.engine import errors
from tools import interfaces, sql_functions

DOCS = Path(__file__).resolve().parents[2] / "docs"


def test_pages_are_up_to_date() -> None:
    assert interfaces.main(["--check"]) == 0, "python tools/interfaces.py"


def test_functions_are_up_to_date() -> None:
    assert sql_functions.main(["--check"]) == 0, "python tools/sql_functions.py"


def test_every_error_has_an_entry() -> None:
    page = (DOCS / "errors.md").read_text(encoding="utf-8")
    classes = [name for name in errors.__all__ if name[0].isupper() and name != "FunkeError"]
    assert [name for name in classes if f"\n### {name}\n" not in page] == []
