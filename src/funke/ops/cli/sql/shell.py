"""Runs statements and shows what comes of them."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Protocol

from funke.engine.sql.syntax.statements import Reset, Set, Statement
from funke.ops.cli.sql.client_commands import CLEAR, HELP, HELP_TEXT, VERTICAL, pieces_of
from funke.ops.cli.sql.result_display import ResultDisplay
from funke.ops.cli.sql.shell_options import ShellOptions
from funke.ops.cli.sql.shown_result import ShownResult, to_shown
from funke.ops.sql.completion import Suggestion, suggestions
from funke.ops.sql.statement_session import StatementSession

__all__ = ["Leaving", "LocalStatements", "ShellStatements", "SqlShell"]

_CLEAR_SCREEN = "\x1b[H\x1b[2J\x1b[3J"


class Leaving(Exception):
    """The user wants to leave."""


class ShellStatements(Protocol):
    """Where statements run: in this process, or in a gateway."""

    def run(self, statement: Statement) -> ShownResult:
        """Run a statement."""

    def suggestions(self, text: str, position: int) -> tuple[str, list[Suggestion]]:
        """The word at a place, and what it may become."""

    def is_slow_to_start(self, statement: Statement) -> bool:
        """Whether Spark has to start for a statement."""

    def running_jobs(self) -> list[tuple[str, str]]:
        """Ids and names of jobs that end with the shell."""

    def wait_for(self, job_id: str) -> None:
        """Wait for the end of such a job."""

    def cancel(self, job_id: str) -> None:
        """End such a job."""

    def leave_to_service(self, job_id: str) -> str:
        """Let the service go on with such a job; returns the id that it has there."""

    def settings(self) -> dict[str, str]:
        """What is set at the beginning."""


class LocalStatements:
    """Statements of an environment in this process."""

    def __init__(self, session: StatementSession) -> None:
        self.session = session

    def run(self, statement: Statement) -> ShownResult:
        return to_shown(self.session.run(statement))

    def suggestions(self, text: str, position: int) -> tuple[str, list[Suggestion]]:
        return suggestions(self.session.t_env, text, position)

    def running_jobs(self) -> list[tuple[str, str]]:
        return [(each.job_id, each.view().name) for each in self.session.jobs.running()]

    def is_slow_to_start(self, statement: Statement) -> bool:
        return self.session.starts_spark(statement)

    def wait_for(self, job_id: str) -> None:
        self.session.jobs.own(job_id).result()

    def cancel(self, job_id: str) -> None:
        self.session.jobs.own(job_id).cancel().result()

    def leave_to_service(self, job_id: str) -> str:
        return self.session.leave_to_service(job_id)

    def settings(self) -> dict[str, str]:
        text_map: dict[str, str] = self.session.t_env.get_config().to_map()
        return text_map


class SqlShell:
    """Statements run one after the other.

    `waits` says whether inserts are waited for, `is_typed` whether a user sits at a terminal.
    """

    def __init__(
        self,
        statements: ShellStatements,
        waits: bool,
        show: Callable[[str], None] = print,
        is_typed: bool = False,
    ) -> None:
        self.statements = statements
        self._waits = waits
        self._is_typed = is_typed
        self._show = show
        self.options = ShellOptions(initial=_shell_settings(statements.settings()))
        self._display = ResultDisplay(self.options, show, is_typed)

    def run(self, text: str) -> None:
        """Run the statements and commands of a text; the first that fails raises, Leaving where the user leaves."""
        for piece in pieces_of(text):
            if isinstance(piece, Statement):
                self._run(piece)
            else:
                self._run_command(piece)

    def _run_command(self, command: str) -> None:
        if command == HELP:
            self._show(HELP_TEXT)
        elif command == CLEAR:
            if self._is_typed:
                sys.stdout.write(_CLEAR_SCREEN)
                sys.stdout.flush()
        elif command == VERTICAL:
            is_vertical = self.options.format == "vertical"
            self.options.set("funke.sql.format", "table" if is_vertical else "vertical")
            self._show(f"Values stand {'side by side' if is_vertical else 'below each other'}.")
        else:
            raise Leaving

    def _run(self, statement: Statement) -> None:
        if isinstance(statement, Set) and statement.key is not None:
            self.options.set(statement.key, statement.value or "")
        elif isinstance(statement, Reset):
            self.options.reset(statement.key)
        began = time.monotonic()
        if self._is_typed and self.statements.is_slow_to_start(statement):
            self._show("Spark starts; this takes some seconds.")
        result = self.statements.run(statement)
        if result.insert_job is not None:
            self._show_insert(result)
        elif result.is_ok:
            self._show("OK")
        elif result.is_changing and self.options.mode == "TABLE" and self._is_typed:
            self._show_live(result, began)
        else:
            self._display.show(result, began)

    def _show_insert(self, result: ShownResult) -> None:
        self._show(f"Job has been submitted with JobID {result.insert_job}")
        if not self._waits or result.wait is None:
            return
        try:
            result.wait()
        except KeyboardInterrupt:
            # The statement ends, not the shell.
            if not self._is_typed:
                raise
            self._show("Query cancelled.")
            return
        self._show("Complete execution of the SQL update statement.")

    def _show_live(self, result: ShownResult, began: float) -> None:
        # Not at the top: not every system has terminals.
        from funke.ops.cli.sql.live_view import LiveView

        took = (lambda: time.monotonic() - began) if self.options.shows_time else None
        LiveView(result, self.options.most_rows, took).run()

    def leave(self, ask: Callable[[str], str]) -> bool:
        """Whether the shell may end: a job of it that runs ends with it, unless the user decides otherwise."""
        jobs = self.statements.running_jobs()
        if not jobs:
            return True
        for job_id, name in jobs:
            self._show(f"{job_id}  {name}")
        count = "1 job runs" if len(jobs) == 1 else f"{len(jobs)} jobs run"
        answer = ask(f"{count}: leave to the service (l), wait (w), cancel (c), or stay (s, default)? ").strip().lower()
        for job_id, _ in jobs:
            if answer[:1] == "l":
                self._show(f"{job_id} goes on in the service as {self.statements.leave_to_service(job_id)}")
            elif answer[:1] == "w":
                self.statements.wait_for(job_id)
            elif answer[:1] == "c":
                self.statements.cancel(job_id)
        return answer[:1] in ("l", "w", "c")


def _shell_settings(settings: dict[str, str]) -> dict[str, str]:
    return {key: value for key, value in settings.items() if key.startswith(("sql-client.", "funke.sql."))}
