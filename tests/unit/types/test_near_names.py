"""Mistyped names get "did you mean", whatever they name."""

from __future__ import annotations

import pytest

from funke.engine.config.nearest_key import nearest_key
from funke.engine.errors import FunkeError, SqlParserError, did_you_mean, nearest_name
from funke.ops.cli.main import main
from funke.ops.cli.sql.shell import LocalStatements, SqlShell
from funke.ops.sql.statement_session import StatementSession
from funke.table import DataTypes, EnvironmentSettings, TableEnvironment
from funke.table.expressions import col
from funke.table.udf import udf


def test_the_nearest_name() -> None:
    assert nearest_name("NAME", ["name", "age"]) == "name"
    assert nearest_name("name", ["name"]) is None
    assert nearest_name("x", ["name", "age"]) is None
    assert (
        nearest_name("bootstrap.servers", ["properties.bootstrap.servers", "topic"]) == "properties.bootstrap.servers"
    )
    assert did_you_mean("ag", []) == ""


def test_options_of_the_configuration() -> None:
    assert nearest_key("parallelism.defualt") == "parallelism.default"


@pytest.fixture
def t_env() -> TableEnvironment:
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.execute_sql("CREATE TABLE orders (name STRING, price INT) WITH ('connector' = 'datagen')")
    return t_env


@pytest.mark.parametrize(
    ("query", "meant"),
    [
        ("SELECT nme FROM orders", "; did you mean 'name'?"),
        ("SELECT Price FROM orders", "; did you mean 'price'?"),
        ("SELECT o.pric FROM orders AS o", "; did you mean 'price'?"),
        ("SELECT order.price FROM orders", None),
        ("SELECT orer.price FROM orders", "; did you mean 'orders'?"),
        ("SELECT * FROM oders", "; did you mean 'orders'?"),
        ("SELECT * FROM default_databse.orders", "; did you mean 'default_database'?"),
        ("SELECT UPER(name) FROM orders", "; did you mean 'upper'?"),
        ("SELECT SUMM(price) FROM orders", "; did you mean 'sum'?"),
        ("SELECT my_functoin(price) FROM orders", "; did you mean 'my_function'?"),
        ("SELECT zzz FROM orders", None),
    ],
)
def test_names_in_sql(t_env: TableEnvironment, query: str, meant: str | None) -> None:
    t_env.create_temporary_system_function("my_function", udf(lambda x: x, result_type=DataTypes.INT()))
    with pytest.raises(FunkeError) as caught:
        t_env.sql_query(query)
    assert str(caught.value).endswith(meant) if meant else "did you mean" not in str(caught.value)


def test_names_in_the_table_api(t_env: TableEnvironment) -> None:
    with pytest.raises(FunkeError, match=r"was not found\. Did you mean 'orders'\?"):
        t_env.from_path("oders")
    with pytest.raises(FunkeError, match=r"Did you mean 'name'\?|did you mean 'name'\?"):
        t_env.from_path("orders").select(col("nme"))


@pytest.mark.parametrize(
    ("options", "meant"),
    [
        (
            "'connector' = 'kafka', 'topic' = 'x', 'bootstrap.server' = 'h:1', 'formt' = 'json'",
            [
                "Unknown option 'bootstrap.server'; did you mean 'properties.bootstrap.servers'?",
                "Unknown option 'formt'; did you mean 'format'?",
            ],
        ),
        ("'connector' = 'filesystem', 'path' = '/x', 'formt' = 'json'", ["'formt'; did you mean 'format'?"]),
        ("'connector' = 'filesystem', 'pth' = '/x', 'format' = 'json'", ["'pth'; did you mean 'path'?"]),
        ("'connector' = 'filesystem', 'path' = '/x', 'format' = 'jsn'", ["Did you mean 'json'?"]),
        ("'connector' = 'kafak'", ["Did you mean 'kafka'?"]),
    ],
)
def test_options_of_tables(t_env: TableEnvironment, options: str, meant: list[str]) -> None:
    t_env.execute_sql(f"CREATE TABLE t (a INT) WITH ({options})")
    with pytest.raises(FunkeError) as caught:
        t_env.sql_query("SELECT * FROM t")
    assert all(each in str(caught.value) for each in meant), str(caught.value)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("SELCT 1;", "SELECT"),
        ("SELECT 1;\nQIT;", "QUIT"),
        ("CREATE TABEL x (a INT);", "TABLE"),
        ("SHOW TABELS;", "TABLES"),
    ],
)
def test_words_in_the_shell(t_env: TableEnvironment, text: str, meant: str) -> None:
    with pytest.raises(SqlParserError, match=rf"\. Did you mean '{meant}'\?$"):
        SqlShell(LocalStatements(StatementSession(t_env)), waits=False).run(text)


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (["lst"], "there is no command 'lst'; did you mean 'list'?"),
        (["savepiont", "x"], "; did you mean 'savepoint'?"),
        (["nonsense"], "; see `funke --help`"),
        (["run", "--paralelism", "2", "job.py"], "there is no option --paralelism; did you mean '--parallelism'?"),
        (["run", "--paswrd=hush", "job.py"], "there is no option --paswrd; see"),
        (["list", "--runing"], "unrecognized arguments: --runing; did you mean '--running'?"),
    ],
)
def test_commands_and_their_options(arguments: list[str], meant: str, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        code: object = main(arguments)
    except SystemExit as ended:
        code = ended.code
    output = capsys.readouterr().err
    assert code in (1, 2) and meant in output and "hush" not in output
