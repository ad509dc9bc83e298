"""Adds the current rate to each order: the rates change, and come as changes of a database (LATERAL SNAPSHOT).

    funke run examples/changing_dimension.py

Orders wait until all rates that were there at the start are loaded; from then on each meets the rate of its moment.
"""

import json
import pathlib
import tempfile

from pyflink.table import EnvironmentSettings, TableEnvironment

CHANGES = [
    (None, {"currency": "EUR", "rate": 110, "since": "2024-01-01 09:00:00"}),
    (None, {"currency": "GBP", "rate": 130, "since": "2024-01-01 09:00:00"}),
    ({"currency": "EUR", "rate": 110, "since": "2024-01-01 09:00:00"},
     {"currency": "EUR", "rate": 112, "since": "2024-01-01 09:30:00"}),
    ({"currency": "GBP", "rate": 130, "since": "2024-01-01 09:00:00"}, None),
]  # fmt: skip


def main():
    folder = pathlib.Path(tempfile.mkdtemp())
    lines = [json.dumps({"before": before, "after": after, "op": _op(before, after)}) for before, after in CHANGES]
    (folder / "changes.json").write_text("\n".join(lines) + "\n")

    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.execute_sql(f"""
        CREATE TABLE rates (currency STRING, rate INT, since TIMESTAMP(3), WATERMARK FOR since AS since) WITH (
            'connector' = 'filesystem', 'path' = '{folder}', 'format' = 'debezium-json'
        )
    """)
    orders = t_env.from_elements([(1, "EUR", 10), (2, "GBP", 5), (3, "EUR", 1)], ["id", "currency", "amount"])
    t_env.create_temporary_view("orders", orders)
    result = t_env.execute_sql("""
        SELECT o.id, o.amount * r.rate AS cents
        FROM orders AS o LEFT JOIN LATERAL SNAPSHOT(
            input => TABLE rates, on_time => DESCRIPTOR(since), state_ttl => INTERVAL '7' DAY
        ) AS r
        ON o.currency = r.currency
    """)
    with result.collect() as rows:
        for number, cents in sorted((tuple(row) for row in rows), key=lambda row: row[0]):
            print(number, cents)


def _op(before, after):
    return "c" if before is None else "d" if after is None else "u"


if __name__ == "__main__":
    main()
