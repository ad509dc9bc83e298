"""Runs statements and shows what comes of them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from itertools import pairwise

from funke.engine.config.option_values import parse_integer
from funke.engine.errors import ConfigurationError
from funke.engine.sql.parsing import parse
from funke.engine.sql.parsing.tokens import tokenize
from funke.engine.sql.syntax.statements import Statement
from funke.table import ResultKind, TableEnvironment, TableResult

__all__ = ["SqlShell", "is_complete"]

_MODE = "sql-client.execution.result-mode"


def is_complete(text: str) -> bool:
    """Whether a text ends with a statement: with a semicolon that stands in no text, name, comment or statement set."""
    keys = [token.key for token in tokenize(text) if token.kind != "end"]
    if not keys or keys[-1] != ";":
        return False
    return ("STATEMENT", "SET") not in pairwise(keys) or keys[-2] == "END"


class SqlShell:
    """Statements run one after the other in one environment.

    `waits` says whether inserts are waited for, `is_typed` whether somebody looks at a terminal.
    """

    def __init__(
        self, t_env: TableEnvironment, waits: bool, show: Callable[[str], None] = print, is_typed: bool = False
    ) -> None:
        self.t_env = t_env
        self._waits = waits
        self._is_typed = is_typed
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
        elif result._content.is_changing and self._mode() == "TABLE" and self._is_typed:
            self._show_live(result)
        else:
            result.print()

    def _mode(self) -> str:
        """How results are shown: TABLEAU and CHANGELOG show changes as they come, TABLE shows what they leave."""
        mode: str = self.t_env.get_config().get(_MODE, "TABLEAU")
        if mode.upper() not in ("TABLE", "TABLEAU", "CHANGELOG"):
            raise ConfigurationError(f"Could not parse value '{mode}' for key '{_MODE}'.")
        return mode.upper()

    def _show_live(self, result: TableResult) -> None:
        # Not at the top: not every system has terminals.
        from funke.ops.cli.sql.live_view import LiveView

        most = parse_integer(self.t_env.get_config().get("sql-client.execution.max-table-result.rows", "1000000"))
        if not LiveView(result._content, most).run():
            raise KeyboardInterrupt
