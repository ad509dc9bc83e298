"""Runs statements and shows what comes of them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from itertools import pairwise

from funke.engine.sql.parsing import parse
from funke.engine.sql.parsing.tokens import tokenize
from funke.engine.sql.syntax.statements import Statement
from funke.table import ResultKind, TableEnvironment, TableResult

__all__ = ["SqlShell", "is_complete"]


def is_complete(text: str) -> bool:
    """Whether a text ends with a statement: with a semicolon that stands in no text, name, comment or statement set."""
    keys = [token.key for token in tokenize(text) if token.kind != "end"]
    if not keys or keys[-1] != ";":
        return False
    return ("STATEMENT", "SET") not in pairwise(keys) or keys[-2] == "END"


class SqlShell:
    """Statements run one after the other in one environment; `waits` says whether inserts are waited for."""

    def __init__(self, t_env: TableEnvironment, waits: bool, show: Callable[[str], None] = print) -> None:
        self.t_env = t_env
        self._waits = waits
        self._show = show

    def run(self, text: str) -> None:
        """Run the statements of a text; the first that fails raises."""
        for statement in parse(text):
            self._run(statement)

    def _run(self, statement: Statement) -> None:
        result = self.t_env._run(statement)
        try:
            self._print(result)
        except KeyboardInterrupt:
            # The query ends, not the shell.
            with contextlib.suppress(KeyboardInterrupt):
                result.collect().close()
            self._show("Query cancelled.")

    def _print(self, result: TableResult) -> None:
        client = result.get_job_client()
        is_insert = client is not None and result._content.is_insert
        if is_insert and client is not None:
            self._show(f"Job has been submitted with JobID {client.get_job_id()}")
            if self._waits:
                result.wait()
                self._show("Complete execution of the SQL update statement.")
        elif result.get_result_kind() == ResultKind.SUCCESS:
            self._show("OK")
        else:
            result.print()
