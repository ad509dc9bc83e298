"""The page about options is made from the table of options."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

from funke.engine.config.all_options import all_options

ROOT = Path(__file__).resolve().parents[2]


def load_tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("configuration_tool", ROOT / "tools" / "configuration.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_up_to_date() -> None:
    assert load_tool().main(["--check"]) == 0


def test_every_option_is_described_once() -> None:
    page = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
    keys = [option.key for option in all_options()]
    assert len(keys) == len(set(keys))
    for option in all_options():
        assert page.count(f"| `{option.key}` |") == 1, option.key
        assert option.description and option.kind, option.key
