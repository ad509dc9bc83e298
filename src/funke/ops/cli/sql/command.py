"""The command `funke sql` and its options."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path

from funke.engine.config.option_values import parse_boolean
from funke.engine.config.secret_keys import named_only
from funke.engine.errors import ConfigurationError
from funke.engine.jobs.attempts.progress import ProgressLine
from funke.ops.cli.sql.gateway_statements import GatewayStatements
from funke.ops.cli.sql.shell import Leaving, LocalStatements, ShellStatements, SqlShell
from funke.ops.cli.terminal import CommandParser
from funke.ops.sql.statement_session import StatementSession
from funke.table import EnvironmentSettings, TableEnvironment

__all__ = ["sql"]

_DESCRIPTION = """Run SQL statements, with semicolons between them. Without -e and -f they are read from the standard
input: from a terminal with history (in ~/.funke_sql_history), completion and colours."""


def sql(arguments: list[str]) -> None:
    """Run the command."""
    parser = CommandParser(prog="funke sql", description=_DESCRIPTION)
    parser.add_argument("-e", "--execute", metavar="STATEMENTS", action="append", default=[])
    parser.add_argument("-f", "--file", metavar="FILE", action="append", default=[])
    parser.add_argument("-i", "--init", metavar="FILE", action="append", default=[], help="statements to begin with")
    parser.add_argument("-b", "--batch", action="store_true", help="results are given once, of all the input")
    parser.add_argument("--gateway", metavar="HOST:PORT", help="a SQL gateway that runs the statements")
    parser.add_argument("-D", metavar="KEY=VALUE", action="append", default=[], help="any option of Flink's or Spark's")
    command_line = parser.parse_args(arguments)

    options = {"execution.runtime-mode": "batch"} if command_line.batch else {}
    for option in command_line.D:
        key, mark, value = option.partition("=")
        if not mark:
            raise ConfigurationError(f"-D needs key=value, got {named_only(option)}")
        options[key] = value
    with _statements(command_line.gateway, options) as statements, contextlib.suppress(Leaving):
        is_typed = not command_line.execute and not command_line.file and sys.stdin.isatty()
        waits = not is_typed or parse_boolean(options.get("table.dml-sync", "false"))
        shell = SqlShell(statements, waits, is_typed=is_typed and sys.stdout.isatty())
        for path in command_line.init:
            shell.run(Path(path).read_text())
        if is_typed:
            ProgressLine.is_wanted = False
            from funke.ops.cli.sql.prompt import SqlPrompt

            SqlPrompt(shell).run()
            return
        for text in (*(Path(path).read_text() for path in command_line.file), *command_line.execute):
            shell.run(text)
        if not command_line.execute and not command_line.file:
            shell.run(sys.stdin.read())


@contextlib.contextmanager
def _statements(gateway: str | None, options: dict[str, str]) -> Iterator[ShellStatements]:
    """Where statements run: at a gateway, or in an environment of this process."""
    if gateway is not None:
        with GatewayStatements.connected(gateway, options) as statements:
            yield statements
        return
    t_env = TableEnvironment.create(EnvironmentSettings.new_instance().build())
    for key, value in options.items():
        t_env.get_config().set(key, value)
    yield LocalStatements(StatementSession(t_env))
