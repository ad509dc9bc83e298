"""Orders and the payments that came within an hour; orders without one have NULL instead.

funke run examples/unpaid_orders.py --orders 1000

An interval join: state holds an hour of each side, however long the job runs.
"""

import argparse
import sys

from pyflink.table import EnvironmentSettings, TableEnvironment


def numbered(column, count):
    return f"""'connector' = 'datagen', 'number-of-rows' = '{count}', 'fields.{column}.kind' = 'sequence',
        'fields.{column}.start' = '1', 'fields.{column}.end' = '{count}'"""


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--orders", type=int, default=1_000)
    arguments = parser.parse_args(argv)

    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.get_config().set("parallelism.default", "1")
    # One order a minute; payments take no time, 50 minutes or 100 minutes.
    t_env.execute_sql(f"""
        CREATE TABLE orders (
            number BIGINT,
            ordered_at AS TO_TIMESTAMP_LTZ(number * 60000, 3),
            WATERMARK FOR ordered_at AS ordered_at
        ) WITH ({numbered("number", arguments.orders)})
    """)
    t_env.execute_sql(f"""
        CREATE TABLE payments (
            order_number BIGINT,
            paid_at AS TO_TIMESTAMP_LTZ(order_number * 60000 + MOD(order_number, 3) * 3000000, 3),
            WATERMARK FOR paid_at AS paid_at - INTERVAL '100' MINUTE
        ) WITH ({numbered("order_number", arguments.orders)})
    """)
    t_env.execute_sql("""
        SELECT o.number, TIMESTAMPDIFF(MINUTE, o.ordered_at, p.paid_at) AS minutes
        FROM orders o LEFT JOIN payments p
        ON o.number = p.order_number AND p.paid_at BETWEEN o.ordered_at AND o.ordered_at + INTERVAL '1' HOUR
    """).print()


if __name__ == "__main__":
    main(sys.argv[1:])
