"""Sessions of statements: what their programs remember, and what they say of jobs."""

from __future__ import annotations

from pathlib import Path

import pytest

from funke.engine.errors import ConfigurationError, FunkeError
from funke.engine.flink_exceptions import ValidationException
from funke.engine.sql.parsing import parse
from funke.engine.sql.syntax import statements as syntax
from funke.engine.types.job_status import JobStatus
from funke.ops.sql.job_names import job_name_of
from funke.ops.sql.statement_session import StatementSession
from funke.table import EnvironmentSettings, TableEnvironment
from tests.unit.ops.rest.job_samples import driven, ended, sample_view, submit


@pytest.fixture
def session(tmp_path: Path) -> StatementSession:
    t_env = TableEnvironment.create(EnvironmentSettings.new_instance().build())
    t_env.get_config().set("funke.home", str(tmp_path))
    return StatementSession(t_env)


def run(session: StatementSession, text: str) -> list[tuple[object, ...]]:
    results = [session.run(each) for each in parse(text)]
    return [tuple(row) for row in results[-1].table.collect()]


def test_statements_about_jobs_know_those_with_a_record(session: StatementSession, tmp_path: Path) -> None:
    assert run(session, "SHOW JOBS") == []
    job, over = submit(str(tmp_path)), ended(str(tmp_path), JobStatus.FAILED)
    with driven(job, sample_view(job.job_id), []):
        listed = {row[0]: row[2] for row in run(session, "SHOW JOBS")}
        assert listed == {job.job_id: "RUNNING", over.job_id: "FAILED"}
        ((result, _, status, _),) = run(session, f"DESCRIBE JOB '{over.job_id}'")
        assert (result, status) == (over.job_id, "FAILED")
        with pytest.raises(ValidationException, match="WITH DRAIN could only be used after WITH SAVEPOINT"):
            run(session, f"STOP JOB '{job.job_id}' WITH DRAIN")
    job.release()
    with pytest.raises(ValidationException, match="Job ID nope is not known"):
        run(session, "DESCRIBE JOB 'nope'")
    with pytest.raises(ValidationException, match=f"Job {over.job_id} has ended: FAILED"):
        run(session, f"STOP JOB '{over.job_id}'")


@pytest.mark.parametrize("text", ["SHOW JOBS", "DESCRIBE JOB 'x'", "STOP JOB 'x' WITH SAVEPOINT"])
def test_programs_do_not_have_them(text: str) -> None:
    with pytest.raises(NotImplementedError, match="is not supported"):
        TableEnvironment.create(EnvironmentSettings.in_streaming_mode()).execute_sql(text)


def test_how_a_job_is_to_be_stopped() -> None:
    plain, saved, drained = parse("STOP JOB 'a'; STOP JOB 'a' WITH SAVEPOINT; STOP JOB 'a' WITH SAVEPOINT WITH DRAIN")
    assert plain == syntax.StopJob("a") and saved == syntax.StopJob("a", True)
    assert drained == syntax.StopJob("a", True, True)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("INSERT INTO c.d.t (a, b)\n  SELECT a, -- one\n b FROM s", "INSERT INTO c.d.t: SELECT a, b FROM s"),
        ("INSERT OVERWRITE t VALUES (1, 'a  b')", "INSERT OVERWRITE t: VALUES (1, 'a  b')"),
        (
            "INSERT INTO t /*+ OPTIONS('password' = 'x') */ SELECT 1 FROM s /*+ OPTIONS('password' = 'y') */",
            "INSERT INTO t: SELECT 1 FROM s /*+ OPTIONS('password' = '******') */",
        ),
        (
            "EXECUTE STATEMENT SET BEGIN INSERT INTO a SELECT 1; INSERT INTO b SELECT 2; END",
            "STATEMENT SET: INSERT INTO a, b",
        ),
        (f"SELECT '{'x' * 100}'", f"SELECT '{'x' * 71}…"),
        ("SHOW TABLES", None),
    ],
)
def test_a_job_is_named_by_its_statement(text: str, name: str | None) -> None:
    assert job_name_of(parse(text)[0]) == name


def test_the_program_of_a_session_makes_what_lives_in_it_alone(session: StatementSession) -> None:
    statements = [
        "CREATE CATALOG mem WITH ('type' = 'generic_in_memory')",
        "CREATE DATABASE mem.d",
        "CREATE TABLE mem.d.t (a INT) WITH ('connector' = 'blackhole')",
        "CREATE TEMPORARY VIEW v AS SELECT 1 AS a",
        "ALTER TABLE mem.d.t SET ('x' = 'y')",
        "DROP TEMPORARY VIEW v",
        "USE mem.d",
    ]
    run(
        session,
        ";".join([*statements[:3], "SHOW TABLES", *statements[3:], "SET 'pipeline.name' = 'it''s'", "DESCRIBE t"]),
    )
    assert session._program._statements == statements
    home = session.t_env.get_config().get("funke.home", "")
    assert session._program._changed_settings() == {"funke.home": home, "pipeline.name": "it's"}


def test_an_insert_for_the_service_needs_one(session: StatementSession) -> None:
    run(session, "CREATE TABLE t (a INT) WITH ('connector' = 'blackhole')")
    run(session, "SET 'execution.target' = 'remote'")
    with pytest.raises(FunkeError, match="Object 'nope' not found"):
        run(session, "INSERT INTO t SELECT a FROM nope")
    with pytest.raises(ConfigurationError, match="no service runs for this folder of jobs"):
        run(session, "INSERT INTO t SELECT 1")
    run(session, "SET 'execution.target' = 'moon'")
    with pytest.raises(ConfigurationError, match="expected 'local' or 'remote'"):
        run(session, "INSERT INTO t SELECT 1")
