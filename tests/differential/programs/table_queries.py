# compare: ordered
# parallelism: 1
"""Queries that programs begin with: windows, first rows, duplicates, views, copies of tables, functions."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyflink.table import EnvironmentSettings, TableEnvironment
from pyflink.table.expressions import col, lit
from pyflink.table.udf import udf, udtf
from pyflink.table.window import Tumble

BIDS = """2020-04-15 08:05:00,4.00,C,s1
2020-04-15 08:07:00,2.00,A,s1
2020-04-15 08:09:00,5.00,D,s2
2020-04-15 08:11:00,3.00,B,s2
2020-04-15 08:13:00,1.00,E,s1
2020-04-15 08:17:00,6.00,F,s2
"""
WINDOWS = "TABLE(TUMBLE(TABLE bids, DESCRIPTOR(made), INTERVAL '10' MINUTES))"


@udf(result_type="BIGINT")
def priced(price: Any, factor: int) -> int:
    return int(price * factor)


@udtf(result_types=["VARCHAR(10)", "INT"])
def letters(text: str) -> Iterator[tuple[str, int]]:
    for index, letter in enumerate(text):
        yield letter, index


def show(title: str, result: Any) -> None:
    with result.collect() as rows:
        lines = sorted(f"{each.get_row_kind()} {[str(value) for value in each]}" for each in rows)
    print(title, *lines, sep="\n  ", flush=True)


def main(path: str) -> None:
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.get_config().set("parallelism.default", "1")
    t_env.execute_sql(
        f"""CREATE TABLE bids (
            made TIMESTAMP(3), price DEC(10, 2), item VARCHAR, supplier CHARACTER VARYING,
            twice AS price * 2, WATERMARK FOR made AS made - INTERVAL '1' SECONDS
        ) WITH ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'csv')"""
    )
    t_env.create_temporary_function("priced", priced)
    t_env.create_temporary_function("letters", letters)
    t_env.execute_sql("CREATE VIEW cheap (name, cost) AS SELECT item, price FROM bids WHERE price < 4")
    t_env.execute_sql(
        "CREATE TABLE copied (more AS price * 4, WATERMARK FOR made AS made - INTERVAL '5' SECOND) "
        "LIKE bids (OVERWRITING WATERMARKS)"
    )
    queries = {
        "columns": "DESCRIBE copied",
        "window": f"SELECT window_start, SUM(price), MAX(item) FROM {WINDOWS} GROUP BY window_start, window_end",
        "first rows of windows": f"""SELECT item, price, rank_ FROM (
            SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER BY price DESC) AS rank_
            FROM {WINDOWS}) WHERE rank_ <= 2""",
        "first rows": """SELECT supplier, item, price FROM (
            SELECT *, ROW_NUMBER() OVER (PARTITION BY supplier ORDER BY price DESC) AS place FROM bids)
            WHERE place <= 1""",
        "duplicates": """SELECT item, supplier FROM (
            SELECT *, ROW_NUMBER() OVER (PARTITION BY supplier ORDER BY made) AS place FROM bids) WHERE place = 1""",
        "over": """SELECT item, SUM(price) OVER (PARTITION BY supplier ORDER BY made
            RANGE BETWEEN INTERVAL '5' MINUTE PRECEDING AND CURRENT ROW) FROM bids""",
        "view": "SELECT * FROM cheap",
        "copy": "SELECT item, more FROM copied",
        "functions": "SELECT item, priced(price, 3), c FROM bids, LATERAL TABLE(letters(supplier)) AS l(c, n)",
        "groups": "SELECT supplier, COUNT(*), LISTAGG(item) FROM bids GROUP BY supplier",
    }
    for title, query in queries.items():
        show(title, t_env.execute_sql(query))
    window = Tumble.over(lit(10).minutes).on(col("made")).alias("w")
    table = t_env.from_path("bids").window(window).group_by(col("w"), col("supplier"))
    show("calls", table.select(col("supplier"), col("w").start, col("price").avg).execute())


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "bids.csv")
        file.write_text(BIDS, encoding="utf-8")
        main(str(file))
