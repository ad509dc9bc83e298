"""Builds the documentation site.

    python tools/docs_site.py           into src/funke/ops/site, where `funke docs` finds it
    python tools/docs_site.py FOLDER    into another folder

The pages are those of docs/, the README and its siblings, one page with all examples, and a reference of every public
class and function, made of signatures and docstrings. They are gathered in build/docs, with links that fit the site.
"""

from __future__ import annotations

import ast
import importlib
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

__all__ = ["build", "gather"]

ROOT = Path(__file__).resolve().parents[1]
PAGES = ROOT / "build" / "docs"
OFFLINE = ROOT / "src" / "funke" / "ops" / "site"
# Pages that do not stand in docs/, and their names on the site.
ROOT_PAGES = {
    "README.md": "index.md",
    "ARCHITECTURE.md": "architecture.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
}
# The packages of the reference, in the order of the navigation.
PACKAGES = (
    "datastream",
    "datastream.functions",
    "datastream.state",
    "datastream.window",
    "datastream.connectors",
    "datastream.connectors.file_system",
    "datastream.connectors.kafka",
    "datastream.connectors.datagen",
    "datastream.connectors.python",
    "datastream.connectors.spark",
    "datastream.connectors.mysql_cdc",
    "datastream.connectors.postgres_cdc",
    "datastream.formats.avro",
    "datastream.formats.csv",
    "datastream.formats.json",
    "datastream.formats.orc",
    "datastream.formats.parquet",
    "table",
    "table.expressions",
    "table.udf",
    "table.window",
    "table.catalog",
    "cep",
    "common",
    "common.watermark_strategy",
    "metrics",
    "state_api",
    "util.exceptions",
)
_LINK = re.compile(r"(\[[^\]]*\])\(([^)#\s]*)(#[^)\s]*)?\)")


def build(site: Path) -> None:
    """Gathers the pages and builds them; a broken link is an error."""
    gather(PAGES)
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--clean"]
    subprocess.run([*command, "--config-file", str(ROOT / "mkdocs.yml"), "--site-dir", str(site)], check=True)


def gather(folder: Path) -> None:
    """Writes all pages of the site as Markdown."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(ROOT / "docs", folder)
    names = {ROOT / "docs" / path.relative_to(folder): path for path in folder.rglob("*") if path.is_file()}
    names |= {ROOT / name: folder / page for name, page in ROOT_PAGES.items()}
    names |= {path: folder / "examples.md" for path in (ROOT / "examples").glob("*.py")}
    for source, page in names.items():
        if page.suffix == ".md" and source.suffix == ".md":
            page.write_text(_with_links(source, page, names), encoding="utf-8")
    (folder / "examples.md").write_text("\n".join(_examples()), encoding="utf-8")
    for package in PACKAGES:
        page = folder / "reference" / f"{package}.md"
        page.parent.mkdir(exist_ok=True)
        page.write_text("\n".join(_reference(f"funke.{package}")), encoding="utf-8")


def _with_links(source: Path, page: Path, names: dict[Path, Path]) -> str:
    """The text of a page: links lead to pages of the site, and what is not on the site is only named."""

    def replaced(link: re.Match[str]) -> str:
        text, target, anchor = link[1], link[2], link[3] or ""
        if not target or "://" in target:
            return link[0]
        path = (source.parent / target).resolve()
        if path not in names:
            return f"{text[1:-1]} (`{path.relative_to(ROOT)}`)"
        if path.suffix == ".py":
            anchor = f"#{path.stem}"
        depth = len(page.relative_to(PAGES).parts) - 1
        return f"{text}({'../' * depth}{names[path].relative_to(PAGES)}{anchor})"

    return _LINK.sub(replaced, source.read_text(encoding="utf-8"))


def _examples() -> Iterator[str]:
    """Every program of examples/, with what it says of itself."""
    yield "# Examples\n\nPrograms that the test suite runs. Start one with `funke run examples/<name>.py`.\n"
    for path in sorted((ROOT / "examples").glob("*.py")):
        text = path.read_text(encoding="utf-8")
        docstring = ast.get_docstring(ast.parse(text)) or ""
        title = docstring.partition("\n")[0].rstrip(".")
        yield f"## {title} {{ #{path.stem} }}\n\n`examples/{path.name}`\n"
        yield f'??? example "Program"\n    ```python\n{_indented(text)}\n    ```\n'


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" if line else "" for line in text.rstrip().splitlines())


def _reference(package: str) -> Iterator[str]:
    """One entry for every public name of a package; mkdocstrings writes signatures and docstrings."""
    module = importlib.import_module(package)
    purpose = (module.__doc__ or "").strip().partition("\n")[0]
    yield f"# {package}\n\n{purpose}\n\nThe same names are in `py{package.replace('funke', 'flink', 1)}`.\n"
    for name in sorted(module.__all__, key=str.lower):
        yield f"::: {package}.{name}\n"


if __name__ == "__main__":
    build(Path(sys.argv[1]) if len(sys.argv) > 1 else OFFLINE)
