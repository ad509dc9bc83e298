"""Writes docs/table-connectors.md from the connectors and formats themselves.

python tools/table_connectors.py            write the page
python tools/table_connectors.py --check    fail if the page is not what they say
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from funke.engine.sql.connectors.formats.file_format_factory import FileFormatFactory
from funke.engine.sql.connectors.formats.file_formats import FILE_FORMATS
from funke.engine.sql.connectors.table_factories import COMMON_OPTIONS, table_factories
from funke.engine.sql.connectors.table_factory import TableFactory
from funke.engine.sql.connectors.table_option import TableOption

PAGE = Path(__file__).resolve().parent.parent / "docs" / "table-connectors.md"

INTRODUCTION = """# Connectors of tables

The connectors for `'connector' = '…'` in the options of CREATE TABLE. Unknown options are rejected, with a list of the
supported ones. Packages add connectors with an entry point of the group `funke.table_factories`, which names a subclass
of `funke.engine.sql.connectors.table_factory.TableFactory`.

`python tools/table_connectors.py` writes this page.
"""


def main(arguments: list[str]) -> int:
    page = to_markdown()
    if arguments == ["--check"]:
        return 0 if PAGE.read_text(encoding="utf-8") == page else 1
    PAGE.write_text(page, encoding="utf-8")
    return 0


def to_markdown() -> str:
    """The page's text."""
    own = {name: each for name, each in table_factories().items() if type(each).__module__.startswith("funke.")}
    lines = [INTRODUCTION, "## All connectors", "", *table((each, False) for each in COMMON_OPTIONS), ""]
    for name in sorted(own):
        lines += connector(own[name])
    lines += ["# Formats of files", "", "Their options begin with their names: `'csv.field-delimiter' = ';'`.", ""]
    for name in sorted(FILE_FORMATS):
        lines += form(FILE_FORMATS[name])
    return "\n".join(lines).rstrip() + "\n"


def connector(factory: TableFactory) -> list[str]:
    uses = " and ".join(["reading"] * factory.reads + ["writing"] * factory.writes)
    options = [
        *((each, True) for each in factory.required_options),
        *((each, False) for each in factory.optional_options),
    ]
    return [f"## {factory.identifier}", "", f"{factory.purpose} For {uses}.", "", *table(options), ""]


def form(factory: FileFormatFactory) -> list[str]:
    options = [(each.with_prefix(factory.identifier), False) for each in factory.options]
    return [f"## {factory.identifier}", "", factory.purpose, "", *table(options), ""]


def table(options: Iterable[tuple[TableOption, bool]]) -> list[str]:
    rows = [row(option, is_required) for option, is_required in options]
    return ["| option | type | default | meaning |", "|---|---|---|---|", *rows] if rows else ["It has no options."]


def row(option: TableOption, is_required: bool) -> str:
    default = "required" if is_required else "" if option.default is None else f"`{option.default}`"
    choices = f" One of {', '.join(f'`{each}`' for each in option.choices)}." if option.choices else ""
    return f"| `{option.key}` | {option.type} | {default} | {option.description}{choices} |"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
