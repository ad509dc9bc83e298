"""Where a file whose lines may stand between quotes is cut: at the end of the first record that reaches far enough."""

from __future__ import annotations

import io
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from funke.engine.formats import record_chunks
from funke.engine.formats.record_chunks import DelimiterEnds, QuotedLineEnds, RecordChunks


@pytest.fixture
def small_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_chunks, "_SEEK_BYTES", 3)
    monkeypatch.setattr(record_chunks, "_COUNTED_BYTES", 5)


def record_ends(ends: QuotedLineEnds, data: bytes) -> list[int]:
    results = [0]
    while results[-1] < len(data):
        results.append(results[-1] + ends.first_record(data[results[-1] :]))
    return results


@pytest.mark.usefixtures("small_reads")
@settings(max_examples=200)
@given(some.lists(some.sampled_from([b"ab", b'"', b"\n", b"\r", b"\r\n", b","]), min_size=1).map(b"".join), some.data())
def test_a_cut_is_the_first_end_that_reaches_far_enough(content: bytes, data: Any) -> None:
    ends = QuotedLineEnds(b'"')
    ends_of_records = record_ends(ends, content)
    start = data.draw(some.sampled_from(ends_of_records[:-1]))
    expected = data.draw(some.integers(start + 1, len(content)))
    cut = ends.cut_at(io.BytesIO(content), start, expected, len(content))
    assert cut == min(end for end in ends_of_records if end >= expected)


def test_an_escaped_quote_does_not_count() -> None:
    content = b'1,"a\\"\nb"\n2,c\n'
    assert QuotedLineEnds(b'"', b"\\").cut_at(io.BytesIO(content), 0, 2, len(content)) in (10, len(content))


@given(
    words=some.lists(some.text("ab\n", max_size=4), max_size=30),
    delimiter=some.sampled_from([" ", "||", "|\n|"]),
    size=some.integers(1, 20),
)
def test_records_that_end_with_a_text_are_cut_behind_it(words: list[str], delimiter: str, size: int) -> None:
    data = delimiter.join(words).encode()
    chunks = RecordChunks(io.BytesIO(data), None, DelimiterEnds(delimiter.encode()))
    column = list(iter(lambda: chunks.take(size), b""))
    assert b"".join(column) == data
    assert all(chunk.endswith(delimiter.encode()) for chunk in column[:-1])
