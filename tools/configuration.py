"""Writes docs/configuration.md from the table of options.

python tools/configuration.py            write the page
python tools/configuration.py --check    say whether it is as it should be
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from funke.engine.config.all_options import default_text, option_sections
from funke.engine.config.config_option import ConfigOption

PAGE = Path(__file__).resolve().parent.parent / "docs" / "configuration.md"
HEAD = """\
# Configuration

All options, generated from the table that the engine reads (`tools/configuration.py`). Flink's other options are
accepted; a warning says that they have no effect, and why. So it does for the options below that have none. An unknown
key that resembles one of these gives a warning with the key that may have been meant.

Options are read from `config.yaml` (in `FUNKE_CONF_DIR` or `FLINK_CONF_DIR`), then from `-D key=value`, then from the
program; the last one wins. Durations are written like `10 s`, sizes like `64 mb`, lists with semicolons or as YAML,
maps as `a:1,b:2`. [Operating jobs](operations.md), [The service](service.md), [State](state.md) and
[Security](security.md) explain how options work together.
"""


def main(arguments: list[str]) -> int:
    page = to_markdown()
    if arguments == ["--check"]:
        if PAGE.read_text(encoding="utf-8") != page:
            print("docs/configuration.md is not up to date; run tools/configuration.py")
            return 1
        return 0
    PAGE.write_text(page, encoding="utf-8")
    return 0


def to_markdown() -> str:
    """The page."""
    parts = [HEAD]
    for title, options in option_sections():
        parts.append(f"\n## {title}\n\n{_table(options)}\n")
    return "".join(parts)


def _table(options: Iterable[ConfigOption[Any]]) -> str:
    rows = ["| key | values | default | meaning |", "|---|---|---|---|"]
    for option in options:
        rows.append(f"| `{option.key}` | {option.kind} | {_default(option)} | {_meaning(option)} |")
    return "\n".join(rows)


def _default(option: ConfigOption[Any]) -> str:
    text = default_text(option)
    return f"`{text}`" if text and option.kind != "size" else text


def _meaning(option: ConfigOption[Any]) -> str:
    parts = [option.description]
    if option.no_effect:
        parts.append(f"**No effect**: {option.no_effect}.")
    if option.older_keys:
        parts.append("Also: " + ", ".join(f"`{key}`" for key in option.older_keys) + ".")
    return " ".join(parts).replace("|", "\\|")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
