"""Adds what a database knows to each order as it comes: a lookup join with a cache.

    funke run examples/lookup_enrichment.py

All orders of a batch are looked up with one query, and items that were asked for lately are not asked for again.
"""

import sqlite3
import tempfile

from pyflink.table import EnvironmentSettings, TableEnvironment


def main():
    path = f"{tempfile.mkdtemp()}/shop.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE items (id BIGINT PRIMARY KEY, name TEXT, price DOUBLE)")
        connection.executemany("INSERT INTO items VALUES (?, ?, ?)", [(1, "pen", 1.5), (2, "book", 12.0)])

    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.execute_sql(f"""
        CREATE TABLE items (id BIGINT, name STRING, price DOUBLE, PRIMARY KEY (id) NOT ENFORCED) WITH (
            'connector' = 'jdbc', 'url' = 'jdbc:sqlite:{path}', 'table-name' = 'items',
            'lookup.cache' = 'PARTIAL', 'lookup.partial-cache.max-rows' = '10000',
            'lookup.partial-cache.expire-after-write' = '1 min'
        )
    """)
    orders = t_env.from_elements([(1, 1, 10), (2, 2, 1), (3, 7, 2)], ["id", "item", "pieces"])
    t_env.create_temporary_view("orders", orders)
    result = t_env.execute_sql("""
        SELECT o.id, i.name, o.pieces * i.price AS total
        FROM (SELECT *, PROCTIME() AS now FROM orders) AS o
        LEFT JOIN items FOR SYSTEM_TIME AS OF o.now AS i ON o.item = i.id
    """)
    with result.collect() as rows:
        for number, name, total in sorted((tuple(row) for row in rows), key=lambda row: row[0]):
            print(number, name, total)


if __name__ == "__main__":
    main()
