"""Names of jobs that statements start: what the statement does, on one line."""

from __future__ import annotations

from itertools import pairwise

from funke.engine.config.secret_keys import masked_sql
from funke.engine.sql.parsing.tokens import tokenize
from funke.engine.sql.syntax import statements as syntax

__all__ = ["job_name_of"]

_LONGEST = 80


def job_name_of(statement: syntax.Statement) -> str | None:
    """The name of a statement's job; None for statements without one.

    >>> from funke.engine.sql.parsing import parse
    >>> job_name_of(parse("INSERT INTO out1 SELECT a, -- the first\\n  b FROM t")[0])
    'INSERT INTO out1: SELECT a, b FROM t'
    """
    if isinstance(statement, syntax.Insert):
        verb = "OVERWRITE" if statement.is_overwrite else "INTO"
        return _shortened(f"INSERT {verb} {'.'.join(statement.path)}: {_query_text(statement.written)}")
    if isinstance(statement, syntax.StatementSet):
        targets = dict.fromkeys(".".join(each.path) for each in statement.inserts)
        return _shortened(f"STATEMENT SET: INSERT INTO {', '.join(targets)}")
    if isinstance(statement, syntax.QueryStatement):
        return _shortened(_one_line(statement.written))
    return None


def _query_text(insert: str) -> str:
    """What an INSERT writes: from the word on that begins its query."""
    depth = 0
    for token in tokenize(insert):
        depth += (token.key == "(") - (token.key == ")")
        if token.key in ("SELECT", "VALUES", "WITH", "TABLE", "FROM") and depth == 0:
            return _one_line(insert[token.start :])
    return _one_line(insert)


def _one_line(text: str) -> str:
    """Without comments and line ends; what stands between quotes stays as it is."""
    masked = masked_sql(text)
    tokens = tokenize(masked)[:-1]
    gaps = [after.start > before.end for before, after in pairwise(tokens)]
    parts = (masked[each.start : each.end] + (" " if gap else "") for each, gap in zip(tokens, [*gaps, False]))
    return "".join(parts)


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
