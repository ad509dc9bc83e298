"""The page about connectors says what the connectors say."""

from __future__ import annotations

import runpy
from pathlib import Path

ROOT = Path(__file__).resolve().parents[4]


def test_the_page_is_current() -> None:
    tool = runpy.run_path(str(ROOT / "tools" / "table_connectors.py"))
    page = (ROOT / "docs" / "table-connectors.md").read_text(encoding="utf-8")
    assert page == tool["to_markdown"](), "run: python tools/table_connectors.py"
