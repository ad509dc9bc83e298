"""Tables of connectors as jobs: read, computed and written by slots."""

from __future__ import annotations

from pathlib import Path

import pytest

from funke.datastream import StreamExecutionEnvironment
from funke.engine.sql.binding.query_binder import QueryBinder
from funke.engine.sql.binding.relations import Relation
from funke.engine.sql.connectors.push_down import push_down
from funke.engine.sql.parsing import parse
from funke.engine.sql.syntax.statements import QueryStatement
from funke.table.relation_streams import stream_of
from tests.harness.sql_tables import relation_of

pytestmark = pytest.mark.spark


def query(text: str, **tables: str) -> Relation:
    """The meaning of a query on tables, each given by its CREATE TABLE."""
    relations = {(name,): relation_of(each) for name, each in tables.items()}
    (statement,) = parse(text)
    assert isinstance(statement, QueryStatement)
    return push_down(QueryBinder(relations.get).bind(statement.query))


def test_a_table_of_files(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    for kind in ("a", "b"):
        folder = tmp_path / f"kind={kind}"
        folder.mkdir()
        folder.joinpath("x.csv").write_text(
            "".join(f"{number},2020-01-01 00:00:{number % 60:02}.500,left out,{number}.25\n" for number in range(500))
        )
    table = f"""
        CREATE TABLE t (
            id INT, ts TIMESTAMP(3), other STRING, price DECIMAL(10, 2), kind STRING,
            file STRING METADATA FROM 'file.name', twice AS id * 2, WATERMARK FOR ts AS ts - INTERVAL '5' SECOND
        ) PARTITIONED BY (kind) WITH ('connector' = 'filesystem', 'format' = 'csv', 'path' = '{tmp_path}')
    """
    relation = query("SELECT kind, file, twice, price, ts FROM t WHERE id >= 498", t=table)
    with stream_of(env, relation).execute_and_collect() as results:
        found = sorted(tuple(map(str, row)) for row in results)
    assert found == [
        (kind, "x.csv", str(number * 2), f"{number}.25", f"2020-01-01 00:00:{number % 60:02}.500000")
        for kind in ("a", "b")
        for number in (498, 499)
    ]
