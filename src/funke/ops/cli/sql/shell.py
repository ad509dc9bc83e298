"""Runs statements and shows what comes of them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from itertools import accumulate, pairwise

from funke.engine.config.option_values import parse_integer
from funke.engine.errors import ConfigurationError, SqlParserError
from funke.engine.sql.parsing import parse
from funke.engine.sql.parsing.tokens import tokenize
from funke.engine.sql.syntax.statements import Reset, Set, Statement
from funke.engine.types.near_names import did_you_mean
from funke.table import ResultKind, TableEnvironment, TableResult

__all__ = ["LEAVING", "SqlShell", "is_complete"]

LEAVING = ("quit", "exit")
# With which statements begin, and what follows there.
_WORDS = frozenset(
    [
        "ADD",
        "ALTER",
        "ANALYZE",
        "BEGIN",
        "CALL",
        "CATALOG",
        "CATALOGS",
        "COLUMNS",
        "COMPILE",
        "CREATE",
        "CURRENT",
        "DATABASE",
        "DATABASES",
        "DELETE",
        "DESC",
        "DESCRIBE",
        "DROP",
        "END",
        "EXECUTE",
        "EXPLAIN",
        "FROM",
        "FULL",
        "FUNCTION",
        "FUNCTIONS",
        "GROUP",
        "INSERT",
        "INTO",
        "JAR",
        "JARS",
        "JOBS",
        "LOAD",
        "MODULE",
        "MODULES",
        "ORDER",
        "PLAN",
        "QUIT",
        "EXIT",
        "REMOVE",
        "RESET",
        "SELECT",
        "SET",
        "SHOW",
        "STATEMENT",
        "STOP",
        "TABLE",
        "TABLES",
        "TEMPORARY",
        "TRUNCATE",
        "UNLOAD",
        "UPDATE",
        "USE",
        "VALUES",
        "VIEW",
        "VIEWS",
        "WHERE",
        "WITH",
    ]
)

_RUNTIME_MODE = "execution.runtime-mode"
_MODE = "sql-client.execution.result-mode"


def is_complete(text: str) -> bool:
    """Whether a text ends with a statement: with a semicolon that stands in no text, name, comment or statement set."""
    keys = [token.key for token in tokenize(text) if token.kind != "end"]
    if not keys or keys[-1] != ";":
        return False
    return ("STATEMENT", "SET") not in pairwise(keys) or keys[-2] == "END"


def _parsed(text: str) -> list[Statement]:
    """The statements of a text; a word that cannot stand where it does may be another one, mistyped."""
    try:
        return parse(text)
    except SqlParserError as error:
        hint = _hint(text, error)
        if not hint:
            raise
        raise SqlParserError(f"{error.message.rstrip('.')}.{hint}", error.line, error.column) from error


def _hint(text: str, error: SqlParserError) -> str:
    tokens = tokenize(text)
    starts = list(accumulate(map(len, text.splitlines(keepends=True)), initial=0))
    place = starts[error.line - 1] + error.column - 1 if error.line and error.column else 0
    # The word that is refused, or one behind it: what begins with SHOW is refused as a whole.
    behind = [token for token in tokens if token.kind == "word" and token.start >= place][:2]
    return next((hint for token in behind if (hint := did_you_mean(token.text.upper(), _WORDS, begin=" Did"))), "")


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
        for statement in _parsed(text):
            self._run(statement)

    def _run(self, statement: Statement) -> None:
        if not isinstance(statement, (Set, Reset)):
            # An environment of a program has one mode for good; a shell's may change between two statements.
            self.t_env._session.is_streaming = self._runtime_mode() == "STREAMING"
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

    def _runtime_mode(self) -> str:
        mode: str = self.t_env.get_config().get(_RUNTIME_MODE, "STREAMING")
        if mode.upper() not in ("STREAMING", "BATCH"):
            raise ConfigurationError(f"Unsupported mode '{mode}' for '{_RUNTIME_MODE}'; expected STREAMING or BATCH")
        return mode.upper()

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
