"""Statements that the reference accepts are read; those that it rejects are rejected at the same place.

`accepted.sql` has statements with an empty line between them. `rejected.sql` has, before each, the line and column
that Flink's own parser names.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from funke.engine.errors import SqlParserError
from funke.engine.sql.parsing import parse

HERE = Path(__file__).parent


def paragraphs(name):
    return [part.strip("\n") for part in (HERE / name).read_text(encoding="utf-8").split("\n\n") if part.strip()]


ACCEPTED = paragraphs("accepted.sql")
REJECTED = [part.removeprefix("# ").split("\n", 1) for part in paragraphs("rejected.sql")]


def test_the_corpus_is_large_enough():
    assert len(ACCEPTED) >= 300
    assert len(REJECTED) >= 100


@pytest.mark.parametrize("text", ACCEPTED)
def test_an_accepted_statement_is_read(text):
    (statement,) = parse(text)
    assert statement.position is not None
    # Blanks and semicolons around it do not matter.
    assert parse(f"\n  {text}\n;\n") == [statement]


@pytest.mark.parametrize(("position", "text"), REJECTED)
def test_a_rejected_statement_is_rejected_at_its_position(position, text):
    with pytest.raises(SqlParserError) as caught:
        parse(text)
    assert f"{caught.value.line}:{caught.value.column}" == position
