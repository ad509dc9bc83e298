"""A session as a program: the statements that made its tables, and an INSERT that the service runs after them."""

from __future__ import annotations

import contextlib
import os
import time
import uuid
from collections.abc import Mapping

from funke.engine.sql.catalog.in_memory_catalog import InMemoryCatalog
from funke.engine.sql.syntax import statements as syntax
from funke.engine.trust.private_files import open_private_folder
from funke.ops.service.client import ServiceClient
from funke.ops.service.service_folder import ServiceFolder, read_json
from funke.table import EnvironmentSettings, TableEnvironment

__all__ = ["SessionProgram"]

_MODULE = "funke.ops.sql.program_main"
# Settings that the process of a program needs before it can run statements.
_OF_THE_PROCESS = ("spark.", "python.", "funke.")
# Settings of the session itself.
_OF_THE_SESSION = ("execution.target", "table.dml-sync", "sql-client.", "sql-gateway.", "rest.")
# A file that no program names may be that of one which is just being handed over.
_UNUSED_S = 3600.0
_TABLES = (syntax.CreateTable, syntax.AlterTable, syntax.CreateView, syntax.AlterView)
_DATABASES = (syntax.CreateDatabase, syntax.AlterDatabase)
_FUNCTIONS = (syntax.CreateFunction, syntax.AlterFunction)
_ALWAYS = (
    syntax.CreateCatalog,
    syntax.AlterCatalog,
    syntax.Use,
    syntax.UseModules,
    syntax.LoadModule,
    syntax.UnloadModule,
)


class SessionProgram:
    """Remembers what makes a session's tables, functions and catalogs, as far as they live in the session alone."""

    def __init__(self, t_env: TableEnvironment) -> None:
        self._t_env = t_env
        self._statements: list[str] = []
        # What every environment begins with, on this machine.
        self._default_settings = (
            TableEnvironment.create(EnvironmentSettings.new_instance().build()).get_config().to_map()
        )

    def note(self, statement: syntax.Statement) -> None:
        """Remember a statement that was run."""
        if not self._is_kept(statement):
            return
        if isinstance(statement, syntax.CreateTable) and statement.query is not None:
            # Its rows are written already.
            path = ".".join(f"`{name.replace('`', '``')}`" for name in statement.path)
            created = self._t_env.execute_sql(f"SHOW CREATE TABLE {path}").collect()
            self._statements.append(str(next(created)[0]))
        else:
            self._statements.append(statement.written)

    def _is_kept(self, statement: syntax.Statement) -> bool:
        if isinstance(statement, _ALWAYS):
            return True
        if isinstance(statement, syntax.DropObject):
            has_database = statement.kind != "database"
            return (
                statement.kind == "catalog"
                or statement.is_temporary
                or statement.is_system
                or self._is_in_memory(statement.path, 3 if has_database else 2)
            )
        if isinstance(statement, (*_TABLES, *_FUNCTIONS)):
            is_temporary = getattr(statement, "is_temporary", False) or getattr(statement, "is_system", False)
            return is_temporary or self._is_in_memory(statement.path, 3)
        return isinstance(statement, _DATABASES) and self._is_in_memory(statement.path, 2)

    def _is_in_memory(self, path: tuple[str, ...], full: int) -> bool:
        """Whether an object is in a catalog that other processes do not see."""
        catalogs = self._t_env._session.catalogs
        name = path[0] if len(path) >= full else catalogs.current_catalog
        return isinstance(catalogs.get_catalog(name), InMemoryCatalog)

    def hand_over(
        self, statement: syntax.Statement, home: str, waits: bool, further: Mapping[str, str] | None = None
    ) -> str:
        """Let the service run an INSERT; returns the id of its job, which ran to its end if it is waited for."""
        client = ServiceClient(ServiceFolder(home))
        client.require()
        changed = {**self._changed_settings(), **(further or {})}
        options = [f"-D{key}={value}" for key, value in changed.items() if key.startswith(_OF_THE_PROCESS)]
        settings = {key: value for key, value in changed.items() if not key.startswith(_OF_THE_PROCESS)}
        sets = [f"SET {_quoted(key)} = {_quoted(value)}" for key, value in settings.items()]
        path = _written(client.folder, ";\n".join([*sets, *self._statements, f"{statement.written};\n"]))
        run_id = client.submit([*options, "-pym", _MODULE, path], os.getcwd())
        job_id = client.wait_for_job(run_id)
        if waits:
            client.wait_for_end(run_id)
        return job_id

    def _changed_settings(self) -> dict[str, str]:
        return {
            key: value
            for key, value in self._t_env.get_config().to_map().items()
            if self._default_settings.get(key) != value and not key.startswith(_OF_THE_SESSION)
        }


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _written(folder: ServiceFolder, text: str) -> str:
    """The path of a file with a program; only this user can read it, since it may hold passwords."""
    folder.open()
    statements = folder.of("statements")
    open_private_folder(statements)
    _remove_unused(folder, statements)
    path = os.path.join(statements, f"{uuid.uuid4().hex}.sql")
    with open(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
    return path


def _remove_unused(folder: ServiceFolder, statements: str) -> None:
    used: set[str] = set()
    for run in os.scandir(folder.of("runs")):
        if run.name.endswith(".json"):
            with contextlib.suppress(OSError, ValueError):
                used.update(read_json(run.path).get("command", ()))
    for entry in list(os.scandir(statements)):
        if entry.path not in used and entry.stat().st_mtime < time.time() - _UNUSED_S:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(entry.path)
