"""The command `funke sql` and its options."""

from __future__ import annotations

import sys
from pathlib import Path

from funke.engine.config.option_values import parse_boolean
from funke.engine.config.secret_keys import named_only
from funke.engine.errors import ConfigurationError
from funke.engine.jobs.attempts.progress import ProgressLine
from funke.ops.cli.sql.shell import SqlShell
from funke.ops.cli.terminal import CommandParser
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
    parser.add_argument("-D", metavar="KEY=VALUE", action="append", default=[], help="any option of Flink's or Spark's")
    given = parser.parse_args(arguments)

    # Without -b, the mode is that of the configuration; see SqlShell.
    settings = EnvironmentSettings.in_batch_mode() if given.batch else EnvironmentSettings.new_instance().build()
    t_env = TableEnvironment.create(settings)
    for option in given.D:
        key, mark, value = option.partition("=")
        if not mark:
            raise ConfigurationError(f"-D needs key=value, got {named_only(option)}")
        t_env.get_config().set(key, value)
    is_typed = not given.execute and not given.file and sys.stdin.isatty()
    waits = not is_typed or parse_boolean(t_env.get_config().get("table.dml-sync", "false"))
    shell = SqlShell(t_env, waits, is_typed=is_typed and sys.stdout.isatty())
    for path in given.init:
        shell.run(Path(path).read_text())
    if is_typed:
        ProgressLine.is_wanted = False
        from funke.ops.cli.sql.prompt import SqlPrompt

        SqlPrompt(shell).run()
        return
    for text in (*(Path(path).read_text() for path in given.file), *given.execute):
        shell.run(text)
    if not given.execute and not given.file:
        shell.run(sys.stdin.read())
