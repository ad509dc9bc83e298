"""The documentation is true: its code runs and prints what it says, its links lead somewhere, its commands exist."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted(ROOT.glob("docs/**/*.md"))]

FENCE = re.compile(r"^```(\w*)\s*$")
NOT_RUN = re.compile(r"^<!-- not run: ?(.*?) ?-->$")
PRINTS = "<!-- prints -->"
LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)[^)]*\)")
COMMAND = re.compile(r"(?:^|`)make ([a-z]+)\b", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """A fenced block, with the line its text starts on and the comment line before it."""

    language: str
    text: str
    line: int
    note: str

    @property
    def is_run(self) -> bool:
        return self.language == "python" and not NOT_RUN.match(self.note)


def find_blocks(page: str) -> Iterator[Block]:
    lines = page.splitlines()
    start = 0
    language: str | None = None
    for number, line in enumerate(lines):
        fence = FENCE.match(line)
        if fence and language is None:
            language, start = fence[1], number + 1
        elif fence and language is not None:
            yield Block(language, "\n".join(lines[start:number]), start + 1, lines[start - 2] if start > 1 else "")
            language = None


def run_page(name: str, blocks: list[Block], capsys: pytest.CaptureFixture[str]) -> None:
    """Runs the blocks of a page in order, in one namespace, and compares what they print with the page."""
    # The name lets functions travel to workers by value, as those of a user's script do.
    namespace: dict[str, Any] = {"__name__": "__main__"}
    for block in blocks:
        if block.is_run:
            # Empty lines before the text make a traceback show the line of the page.
            exec(compile("\n" * (block.line - 1) + block.text, name, "exec"), namespace)
        elif block.note == PRINTS:
            assert capsys.readouterr().out.strip() == block.text.strip()


def page_id(page: Path) -> str:
    return str(page.relative_to(ROOT))


RUNNABLE = [page for page in PAGES if any(block.is_run for block in find_blocks(page.read_text(encoding="utf-8")))]


@pytest.mark.spark
@pytest.mark.parametrize("page", RUNNABLE, ids=page_id)
def test_code_on_the_page_runs(page: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    run_page(page_id(page), list(find_blocks(page.read_text(encoding="utf-8"))), capsys)


def test_the_readme_has_a_program() -> None:
    assert ROOT / "README.md" in RUNNABLE


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_a_block_that_is_not_run_says_why(page: Path) -> None:
    notes = [NOT_RUN.match(block.note) for block in find_blocks(page.read_text(encoding="utf-8"))]
    assert all(note[1] for note in notes if note)


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_links_lead_to_files(page: Path) -> None:
    targets = [link for link in LINK.findall(page.read_text(encoding="utf-8")) if "://" not in link]
    assert [target for target in targets if not (page.parent / target).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_make_commands_exist(page: Path) -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    assert set(COMMAND.findall(page.read_text(encoding="utf-8"))) <= targets


def test_blocks_are_found_with_language_line_and_note() -> None:
    page = "# T\n<!-- not run: needs a cluster -->\n```python\na = 1\n```\n\n```\nplain\n```\n"
    page += "```python\nb = 2\nc = 3\n```\n"
    assert list(find_blocks(page)) == [
        Block("python", "a = 1", 4, "<!-- not run: needs a cluster -->"),
        Block("", "plain", 8, ""),
        Block("python", "b = 2\nc = 3", 11, "```"),
    ]
    assert [block.is_run for block in find_blocks(page)] == [False, False, True]


def test_blocks_of_a_page_share_names_and_prints_are_compared(capsys: pytest.CaptureFixture[str]) -> None:
    page = "```python\na = 1\n```\n```python\nprint(a + 1)\n```\n<!-- prints -->\n```text\n{}\n```\n"
    run_page("page.md", list(find_blocks(page.format("2"))), capsys)
    with pytest.raises(AssertionError):
        run_page("page.md", list(find_blocks(page.format("3"))), capsys)


def test_an_error_shows_the_line_of_the_page(capsys: pytest.CaptureFixture[str]) -> None:
    page = "# T\n\n```python\na = 1\nb = a / 0\n```\n"
    with pytest.raises(ZeroDivisionError) as failure:
        run_page("page.md", list(find_blocks(page)), capsys)
    last = failure.traceback[-1]
    assert (Path(str(last.path)).name, last.lineno + 1) == ("page.md", 5)
