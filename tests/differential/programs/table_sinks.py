# compare: unordered
# parallelism: 1
"""Rows for several tables whose columns are VARCHAR without a length, by a statement set of calls and of SQL."""

from __future__ import annotations

from pyflink.table import EnvironmentSettings, TableEnvironment
from pyflink.table.expressions import col
from pyflink.table.udf import udf


@udf(result_type="STRING")
def doubled(text: str) -> str:
    return text * 2


def main() -> None:
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.get_config().set("parallelism.default", "1")
    table = t_env.from_elements([(1, "Hello"), (2, "World"), (3, "Flink"), (4, "stream")], ["id", "data"])
    t_env.create_temporary_view("words", table)
    for name in ("plain", "casts", "binary_"):
        column = "data VARBINARY" if name == "binary_" else "data VARCHAR"
        t_env.execute_sql(
            f"CREATE TABLE {name} (id BIGINT, {column}) WITH ('connector' = 'print', 'print-identifier' = '{name}')"
        )
    statements = t_env.create_statement_set()
    statements.add_insert("plain", table.where(col("id") <= 2).select(col("id"), doubled(col("data"))))
    statements.add_insert_sql("INSERT INTO casts SELECT id, CAST(data AS CHARACTER VARYING) FROM words WHERE id > 2")
    statements.add_insert_sql("INSERT INTO binary_ SELECT id, CAST(CAST(data AS BYTES) AS VARBINARY) FROM words")
    statements.execute().wait()


if __name__ == "__main__":
    main()
