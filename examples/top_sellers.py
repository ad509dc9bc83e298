"""What sells best in each hour: sales of generated orders per product, in windows of event time.

funke run examples/top_sellers.py --orders 100000
"""

import argparse
import sys

from pyflink.table import EnvironmentSettings, TableEnvironment


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--orders", type=int, default=100_000)
    arguments = parser.parse_args(argv)

    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.get_config().set("parallelism.default", "1")
    t_env.execute_sql(f"""
        CREATE TABLE orders (
            number BIGINT,
            product INT,
            amount INT,
            ordered_at AS TO_TIMESTAMP_LTZ(number * 1000, 3),
            WATERMARK FOR ordered_at AS ordered_at - INTERVAL '5' SECOND
        ) WITH (
            'connector' = 'datagen',
            'number-of-rows' = '{arguments.orders}',
            'fields.number.kind' = 'sequence',
            'fields.number.start' = '1',
            'fields.number.end' = '{arguments.orders}',
            'fields.product.min' = '1',
            'fields.product.max' = '5',
            'fields.amount.min' = '1',
            'fields.amount.max' = '9'
        )
    """)
    t_env.execute_sql("""
        SELECT window_start, window_end, product, COUNT(*) AS orders, SUM(amount) AS amount
        FROM TABLE(TUMBLE(TABLE orders, DESCRIPTOR(ordered_at), INTERVAL '1' HOUR))
        GROUP BY window_start, window_end, product
        HAVING SUM(amount) > 3000
    """).print()


if __name__ == "__main__":
    main(sys.argv[1:])
