"""The shell for SQL: which texts are whole, what it shows, and how it is typed in."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document
from prompt_toolkit.history import InMemoryHistory
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from funke.engine.errors import ConfigurationError
from funke.ops.cli.main import main
from funke.ops.cli.sql.client_commands import command_in, is_complete
from funke.ops.cli.sql.prompt import SqlCompleter, SqlPrompt
from funke.ops.cli.sql.shell import LocalStatements, SqlShell
from funke.ops.sql.statement_session import StatementSession
from funke.table import EnvironmentSettings, TableEnvironment


@pytest.fixture
def t_env() -> TableEnvironment:
    return TableEnvironment.create(EnvironmentSettings.in_streaming_mode())


def statements(t_env: TableEnvironment) -> LocalStatements:
    return LocalStatements(StatementSession(t_env))


def shell_of(t_env: TableEnvironment, show: Callable[[str], None] = print) -> SqlShell:
    return SqlShell(statements(t_env), waits=False, show=show)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", False),
        ("SELECT 1", False),
        ("SELECT 1;", True),
        ("SELECT ';", False),
        ("SELECT ';' -- ;", False),
        ("SELECT ';' -- ;\n;", True),
        ("EXECUTE STATEMENT SET BEGIN INSERT INTO a SELECT 1;", False),
        ("EXECUTE STATEMENT SET BEGIN INSERT INTO a SELECT 1; END;", True),
    ],
)
def test_a_statement_ends_with_its_semicolon(text: str, expected: bool) -> None:
    assert is_complete(text) is expected


def test_statements_run_in_one_environment(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    script = tmp_path / "tables.sql"
    script.write_text("CREATE TABLE t (a INT) WITH ('connector' = 'blackhole'); -- two\nSHOW TABLES;")
    assert main(["sql", "-f", str(script), "-e", "DESCRIBE t"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "OK" and "|          t |" in lines and lines[-1] == "1 row in set"


def test_a_mistake_ends_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sql", "-e", "SHOW TABLES; SELEC 1; SHOW CATALOGS"]) == 1
    assert "SQL parse failed" in capsys.readouterr().err


def typed(shell: SqlShell, *lines: str) -> None:
    with create_pipe_input() as source:
        for line in lines:
            source.send_text(line)
        SqlPrompt(shell, InMemoryHistory(), source, DummyOutput()).run()


def test_what_is_typed_runs_line_by_line_and_mistakes_do_not_end_it(
    t_env: TableEnvironment, capsys: pytest.CaptureFixture[str]
) -> None:
    shell = shell_of(t_env)
    typed(shell, "CREATE DATABASE\rd;\r", "SELEC 1;\r", "USE d;\r", "\x03", "quit;\r")
    captured = capsys.readouterr()
    assert captured.out.splitlines()[1:] == ["OK", "OK"] and "SQL parse failed" in captured.err
    assert t_env.get_current_database() == "d"
    typed(shell, "\x04")


def test_names_are_completed(t_env: TableEnvironment) -> None:
    t_env.execute_sql("CREATE TABLE sales (a INT) WITH ('connector' = 'blackhole')")
    document = Document("SELECT * FROM s")
    results = [each.text for each in SqlCompleter(statements(t_env)).get_completions(document, CompleteEvent())]
    assert results == ["sales"]


ORDERED = "EXPLAIN SELECT * FROM t ORDER BY a"
TABLE = "CREATE TABLE t (a INT) WITH ('connector' = 'datagen', 'number-of-rows' = '3')"


def test_the_runtime_mode_may_change_between_statements(t_env: TableEnvironment) -> None:
    lines: list[str] = []
    shell = shell_of(t_env, lines.append)
    shell.run(TABLE)
    with pytest.raises(Exception, match="Sort on a non-time-attribute field is not supported"):
        shell.run(ORDERED)
    shell.run(f"SET 'execution.runtime-mode' = 'batch'; {ORDERED}")
    with pytest.raises(ConfigurationError, match="expected STREAMING or BATCH"):
        shell.run(f"SET 'execution.runtime-mode' = 'sometimes'; {ORDERED}")
    with pytest.raises(Exception, match="Sort on a non-time-attribute field is not supported"):
        shell.run(f"RESET 'execution.runtime-mode'; {ORDERED}")


@pytest.mark.parametrize(
    ("options", "is_batch"),
    [
        ([], False),
        (["-D", "execution.runtime-mode=batch"], True),
        (["-b"], True),
        (["-b", "-Dexecution.runtime-mode=streaming"], False),
    ],
)
def test_the_runtime_mode_of_the_command(
    options: list[str], is_batch: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sql", *options, "-e", f"{TABLE}; {ORDERED}"]) == (0 if is_batch else 1)
    assert ("non-time-attribute field" in capsys.readouterr().err) is not is_batch


def test_commands_stand_between_statements(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sql", "-e", "HELP; SHOW CATALOGS; quit; SHOW DATABASES"]) == 0
    output = capsys.readouterr().out
    assert "QUIT/EXIT" in output and "default_catalog" in output and "default_database" not in output


@pytest.mark.parametrize("text", ["\\x", " EXIT ;", "help", "clear;"])
def test_a_command_needs_no_semicolon(text: str) -> None:
    assert is_complete(text) and command_in(text) is not None


def test_results_in_another_form_and_in_a_file(t_env: TableEnvironment, tmp_path: Path) -> None:
    lines: list[str] = []
    shell = shell_of(t_env, lines.append)
    shell.run("SET 'funke.sql.format' = 'csv'; SHOW CATALOGS")
    assert lines == ["OK", "catalog name", "default_catalog"]
    shell.run(f"SET 'funke.sql.format' = 'markdown'; SET 'funke.sql.output-file' = '{tmp_path / 'out'}'; SHOW CATALOGS")
    assert (tmp_path / "out").read_text().splitlines() == ["| catalog name |", "| --- |", "| default_catalog |"]
    shell.run("RESET 'funke.sql.output-file'; SHOW CATALOGS")
    assert lines[-3:] == ["| catalog name |", "| --- |", "| default_catalog |"]
    with pytest.raises(ConfigurationError, match="must be one of table, vertical, csv, json, markdown, got 'xml'"):
        shell.run("SET 'funke.sql.format' = 'xml'")
    assert shell.options.format == "markdown"


def test_leaving_asks_only_when_a_job_runs(t_env: TableEnvironment) -> None:
    assert shell_of(t_env).leave(pytest.fail)
