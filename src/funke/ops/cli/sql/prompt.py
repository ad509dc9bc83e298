"""The shell in a terminal: several lines, history, completion, colours; Ctrl-C gives up a line, Ctrl-D ends it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition
from prompt_toolkit.history import FileHistory, History
from prompt_toolkit.input import Input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.lexers import PygmentsLexer
from prompt_toolkit.output import Output
from pygments.lexers.sql import SqlLexer

from funke import __version__
from funke.engine.sql.parsing.reserved_words import RESERVED_WORDS
from funke.ops.cli.error_report import print_error
from funke.ops.cli.sql.shell import LEAVING, SqlShell, is_complete
from funke.table import TableEnvironment

__all__ = ["SqlPrompt"]


class NameCompleter(Completer):
    """Words of SQL, and the names that the environment knows by now."""

    def __init__(self, t_env: TableEnvironment) -> None:
        self._t_env = t_env

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """Give what the word before the cursor may become."""
        word = document.get_word_before_cursor()
        if not word:
            return
        for name in sorted(self._names(), key=lambda each: (each.isupper(), each)):
            if name.lower().startswith(word.lower()):
                yield Completion(name, start_position=-len(word))

    def _names(self) -> set[str]:
        t_env = self._t_env
        own = [*t_env.list_tables(), *t_env.list_views(), *t_env.list_databases(), *t_env.list_catalogs()]
        return {*own, *t_env.list_functions(), *RESERVED_WORDS}


class SqlPrompt:
    """Reads statements until somebody leaves; what fails is shown, and the shell goes on."""

    def __init__(
        self, shell: SqlShell, history: History | None = None, source: Input | None = None, screen: Output | None = None
    ) -> None:
        self._shell = shell
        self._session: PromptSession[str] = PromptSession(
            message="Funke SQL> ",
            history=history or _file_history(),
            lexer=PygmentsLexer(SqlLexer),
            completer=NameCompleter(shell.t_env),
            complete_while_typing=True,
            multiline=True,
            prompt_continuation=lambda width, line, is_wrapped: "> ".rjust(width),
            key_bindings=self._keys(),
            input=source,
            output=screen,
        )

    def run(self) -> None:
        """Read and run statements until the end."""
        print(f"Funke {__version__}: statements end with a semicolon; quit; or Ctrl-D leaves.")
        while True:
            try:
                text = self._session.prompt()
            except KeyboardInterrupt:
                continue
            except EOFError:
                return
            if text.strip().rstrip(";").strip().lower() in LEAVING:
                return
            try:
                self._shell.run(text)
            except Exception as error:
                print_error(error)

    def _keys(self) -> KeyBindings:
        keys = KeyBindings()

        @Condition
        def ends() -> bool:
            text = self._session.default_buffer.text
            return is_complete(text) or text.strip().lower() in ("", *LEAVING)

        @keys.add("enter", filter=ends)
        def accept(event: KeyPressEvent) -> None:
            event.current_buffer.validate_and_handle()

        return keys


def _file_history() -> Any:
    path = Path.home() / ".funke_sql_history"
    if not path.exists():
        # Statements may hold passwords.
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
    return FileHistory(str(path))
