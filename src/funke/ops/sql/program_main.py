"""Runs the program of a session: `python -m funke run -pym funke.ops.sql.program_main FILE`."""

from __future__ import annotations

import sys

from funke.engine.sql.parsing import parse
from funke.engine.trust.private_files import open_own_file
from funke.ops.sql.statement_session import StatementSession
from funke.table import EnvironmentSettings, TableEnvironment


def main(path: str) -> None:
    """Run the statements of a file and wait for the job of the last one."""
    with open_own_file(path) as file:
        statements = parse(file.read().decode("utf-8"))
    session = StatementSession(TableEnvironment.create(EnvironmentSettings.new_instance().build()))
    for statement in statements:
        result = session.run(statement)
    result.table.wait()


if __name__ == "__main__":
    main(sys.argv[1])
