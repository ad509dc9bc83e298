"""Comments in CSV: lines whose first sign is a #, unless they lie within quotes."""

from __future__ import annotations

import re

from funke.engine.formats.record_chunks import LineEnds, QuotedLineEnds

__all__ = ["without_comments"]

_COMMENT = re.compile(rb"(?:^|(?<=\r))[ \t]*#[^\r\n]*(?:\r\n|\n|\r|\Z)", re.MULTILINE)


def without_comments(data: bytes, ends: LineEnds) -> bytes:
    """Return a chunk, which begins where a record does, without its comments."""
    if b"#" not in data:
        return data
    count = ends.count_quotes if isinstance(ends, QuotedLineEnds) else (lambda _: 0)
    kept, position, quotes = [], 0, 0
    for comment in _COMMENT.finditer(data):
        before = data[position : comment.start()]
        quotes += count(before)
        is_text = quotes % 2  # within quotes, so no comment
        kept.append(data[position : comment.end()] if is_text else before)
        quotes += count(comment.group()) if is_text else 0
        position = comment.end()
    kept.append(data[position:])
    return b"".join(kept)
