"""A session of SQL statements: its environment, mode and jobs, and the INSERTs that the service runs for it."""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from funke.engine.config import flink_options as options
from funke.engine.config.settings import Settings
from funke.engine.config.sql_client_options import TARGET
from funke.engine.errors import ConfigurationError
from funke.engine.jobs.records.job_record import home_folder
from funke.engine.sql.parsing import parse
from funke.engine.sql.statements.outcome import Inserts, Outcome, listing
from funke.engine.sql.statements.statement_executor import execute_statement
from funke.engine.sql.syntax import statements as syntax
from funke.engine.sql.syntax.queries import Query
from funke.engine.types.logical.sql_text import quoted
from funke.ops.rest.job_directory import JobDirectory
from funke.ops.service.client import ServiceClient
from funke.ops.service.service_folder import ServiceFolder
from funke.ops.sql.job_names import job_name_of
from funke.ops.sql.job_statements import SessionJobs, is_job_statement
from funke.ops.sql.session_program import SessionProgram
from funke.table import TableEnvironment, TableResult
from funke.table.results.result_content import ReadyRows

__all__ = ["SessionResult", "StatementSession"]

_RUNTIME_MODE = "execution.runtime-mode"
_JOBS = (syntax.Insert, syntax.StatementSet)


@dataclass(frozen=True)
class SessionResult:
    """What a statement gave; of an INSERT also the job that writes."""

    table: TableResult
    insert_job: str | None = None
    is_query: bool = False
    # In which instants are shown.
    zone: datetime.tzinfo | None = None


class StatementSession:
    """Runs statements one after the other; the mode may change between two of them."""

    def __init__(self, t_env: TableEnvironment) -> None:
        self.t_env = t_env
        self.jobs = SessionJobs(lambda: JobDirectory(self._home()))
        self._program = SessionProgram(t_env)
        # The statements of jobs that write, by the id of the job.
        self._inserts: dict[str, syntax.Statement] = {}

    def run(self, statement: syntax.Statement, settings: Mapping[str, str] | None = None) -> SessionResult:
        """Run a statement with settings of its own; a query and a local INSERT go on in the background."""
        with self._settings_of_a_statement(settings or {}):
            return self._run(statement)

    @contextlib.contextmanager
    def _settings_of_a_statement(self, settings: Mapping[str, str]) -> Iterator[None]:
        config = self.t_env.get_config()
        before = config.to_map()
        try:
            for key, value in settings.items():
                config.set(key, value)
            yield
        finally:
            for key in settings:
                if key in before:
                    config.set(key, before[key])
                else:
                    self.t_env._session.settings.reset(key)

    def _run(self, statement: syntax.Statement) -> SessionResult:
        if is_job_statement(statement):
            return SessionResult(TableResult(ReadyRows(self.jobs.execute(statement))))
        if not isinstance(statement, (syntax.Set, syntax.Reset)):
            # An environment of a program has one mode for good; a session's may change.
            self.t_env._session.is_streaming = self._runtime_mode() == "STREAMING"
        if isinstance(statement, _JOBS) and self._is_remote():
            return self._handed_over(statement)
        if isinstance(statement, syntax.CreateTable) and statement.query is not None and self._is_remote():
            return self._created_and_handed_over(statement, statement.query)
        result = self.t_env._run(statement, self._job_name(statement))
        self._program.note(statement)
        job = result._content.job
        if job is None:
            return SessionResult(result)
        self.jobs.add(job)
        is_query = not result._content.is_insert
        if isinstance(statement, _JOBS):
            self._inserts[job.job_id] = statement
        return SessionResult(result, None if is_query else job.job_id, is_query, self.t_env._session.zone)

    def _job_name(self, statement: syntax.Statement) -> str | None:
        # A name that is set counts more.
        return None if self.t_env.get_config().get("pipeline.name", "") else job_name_of(statement)

    def _handed_over(self, statement: syntax.Statement) -> SessionResult:
        # What is wrong with the statement is said here, and not by a program that fails.
        self.t_env._explained(syntax.Explain(statement))
        waits = self.t_env.get_config().get("table.dml-sync", "false").lower() == "true"
        job_id = self._program.hand_over(statement, self._home(), waits)
        return SessionResult(TableResult(ReadyRows(listing([(job_id,)], "job id"))), job_id)

    def _created_and_handed_over(self, statement: syntax.CreateTable, query: Query) -> SessionResult:
        """CREATE TABLE AS: the session makes the table, and the service writes the rows of the query."""
        planned = execute_statement(self.t_env._session, statement)
        if not isinstance(planned, Inserts):  # the table was there already, with IF NOT EXISTS
            assert isinstance(planned, Outcome)
            return SessionResult(TableResult(ReadyRows(planned)))
        self._program.note(statement)
        path = ".".join(map(quoted, statement.path))
        columns = ", ".join(quoted(each.name) for each in self.t_env._session.bind(query).columns)
        (insert,) = parse(f"INSERT INTO {path} ({columns})\n{statement.query_text}")
        try:
            return self._handed_over(insert)
        except BaseException:
            self._run(parse(f"DROP TABLE {path}")[0])
            raise

    def starts_spark(self, statement: syntax.Statement) -> bool:
        """Whether a statement is the first one for which Spark has to start in this process."""
        is_here = not (isinstance(statement, _JOBS) and self._is_remote())
        return is_here and isinstance(statement, (*_JOBS, syntax.QueryStatement)) and not self.jobs.has_any()

    def leave_to_service(self, job_id: str) -> str:
        """Stop a job that writes with a savepoint, from which the service goes on; returns the new job's id."""
        statement = self._inserts.get(job_id)
        if statement is None:
            raise ConfigurationError(f"job {job_id} is a query: only jobs that write can go on in the service")
        home = self._home()
        ServiceClient(ServiceFolder(home)).require()
        savepoint = self.jobs.own(job_id).savepoint(ServiceFolder(home).of("savepoints"), "stop").result()
        # Its files are removed when the job does not need them any more.
        start = {options.STATE_RECOVERY_PATH.key: savepoint, options.STATE_CLAIM_MODE.key: "CLAIM"}
        return self._program.hand_over(statement, home, waits=False, further=start)

    def _is_remote(self) -> bool:
        target: str = self.t_env.get_config().get(TARGET.key, TARGET.default).lower()
        if target not in ("local", "remote"):
            raise ConfigurationError(f"Unsupported '{TARGET.key}' '{target}'; expected 'local' or 'remote'")
        return target == "remote"

    def _runtime_mode(self) -> str:
        mode: str = self.t_env.get_config().get(_RUNTIME_MODE, "STREAMING")
        if mode.upper() not in ("STREAMING", "BATCH"):
            raise ConfigurationError(f"Unsupported mode '{mode}' for '{_RUNTIME_MODE}'; expected STREAMING or BATCH")
        return mode.upper()

    def _home(self) -> str:
        return home_folder(Settings(self.t_env.get_config().to_map()))
