"""What notebooks show for tables, results and streams: a heading and a small table, with nothing run for it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

__all__ = ["html_view"]


def html_view(title: str, heading: Sequence[str], rows: Iterable[Sequence[str]], note: str = "") -> str:
    """Return the HTML."""
    head = "".join(f"<th>{escape(each)}</th>" for each in heading)
    body = "".join(f"<tr>{''.join(f'<td>{escape(each)}</td>' for each in row)}</tr>" for row in rows)
    below = f"<p><small>{escape(note)}</small></p>" if note else ""
    return (
        f"<div><strong>{escape(title)}</strong><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        f"{below}</div>"
    )
