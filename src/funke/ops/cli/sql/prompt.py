"""The shell in a terminal: several lines, history, completion, colours; Ctrl-C gives up a line, Ctrl-D ends it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion, ThreadedCompleter
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition
from prompt_toolkit.history import FileHistory, History
from prompt_toolkit.input import Input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.lexers import PygmentsLexer
from prompt_toolkit.output import Output
from prompt_toolkit.patch_stdout import patch_stdout
from pygments.lexers.sql import SqlLexer

from funke import __version__
from funke.engine.errors import FunkeError
from funke.ops.cli.error_report import print_error
from funke.ops.cli.sql.client_commands import is_complete
from funke.ops.cli.sql.shell import Leaving, ShellStatements, SqlShell

__all__ = ["SqlPrompt"]

_LONGEST_MEANING = 80


class SqlCompleter(Completer):
    """What may stand at the cursor; between quotes only options and keys."""

    def __init__(self, statements: ShellStatements) -> None:
        self._statements = statements

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """Give what the word before the cursor may become."""
        # A word that is not begun is completed when the user asks for it.
        if complete_event.text_inserted and not document.text_before_cursor[-1:].strip(" \n;(,)"):
            return
        word, suggestions = self._statements.suggestions(document.text, document.cursor_position)
        for each in suggestions:
            meaning = each.meaning.replace("\n", " ")
            yield Completion(each.text, -len(word), display_meta=meaning[:_LONGEST_MEANING])


class SqlPrompt:
    """Reads statements until the user leaves; errors are shown, and the shell goes on."""

    def __init__(
        self, shell: SqlShell, history: History | None = None, source: Input | None = None, screen: Output | None = None
    ) -> None:
        self._shell = shell
        self._session: PromptSession[str] = PromptSession(
            message="Funke SQL> ",
            history=history or _file_history(),
            lexer=PygmentsLexer(SqlLexer),
            completer=ThreadedCompleter(SqlCompleter(shell.statements)),
            complete_while_typing=True,
            multiline=True,
            prompt_continuation=lambda width, line, is_wrapped: "> ".rjust(width),
            key_bindings=self._keys(),
            input=source,
            output=screen,
        )

    def run(self) -> None:
        """Read and run statements until the end."""
        print(f"Funke {__version__}: statements end with a semicolon; HELP; shows commands, QUIT; or Ctrl-D leaves.")
        while True:
            try:
                # What a job prints meanwhile stands above the line that is typed.
                with patch_stdout(raw=True):
                    text = self._session.prompt()
                self._shell.run(text)
            except KeyboardInterrupt:
                continue
            except (EOFError, Leaving):
                if self._may_leave():
                    return
            except Exception as error:
                print_error(error)

    def _may_leave(self) -> bool:
        try:
            return self._shell.leave(_answer)
        except KeyboardInterrupt:
            return False
        except FunkeError as error:
            print_error(error)
            return False

    def _keys(self) -> KeyBindings:
        keys = KeyBindings()

        @Condition
        def ends() -> bool:
            text = self._session.default_buffer.text
            return is_complete(text) or not text.strip()

        @keys.add("enter", filter=ends)
        def accept(event: KeyPressEvent) -> None:
            event.current_buffer.validate_and_handle()

        return keys


def _answer(question: str) -> str:
    try:
        return input(question)
    except EOFError:
        # Ctrl-D a second time, or a closed terminal: the shell leaves without asking.
        return "cancel"


def _file_history() -> Any:
    path = Path.home() / ".funke_sql_history"
    if not path.exists():
        # Statements may hold passwords.
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
    return FileHistory(str(path))
