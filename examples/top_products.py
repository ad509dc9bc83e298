"""The best-selling products of each category, live: a join, a sum and a rank that change with every sale.

funke run examples/top_products.py --sales 10000 --top 2
"""

import argparse
import sys

from pyflink.table import EnvironmentSettings, TableEnvironment

PRODUCTS = [
    (0, "novel", "books"),
    (1, "atlas", "books"),
    (2, "chess", "games"),
    (3, "dice", "games"),
    (4, "go", "games"),
]


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sales", type=int, default=10_000)
    parser.add_argument("--top", type=int, default=2)
    arguments = parser.parse_args(argv)

    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.get_config().set("parallelism.default", "1")
    t_env.create_temporary_view("products", t_env.from_elements(PRODUCTS, ["id", "name", "category"]))
    # Products sell unevenly.
    t_env.execute_sql(f"""
        CREATE TABLE sales (
            number BIGINT,
            product AS MOD(MOD(number, 10) * MOD(number, 7), 5)
        ) WITH (
            'connector' = 'datagen', 'number-of-rows' = '{arguments.sales}', 'fields.number.kind' = 'sequence',
            'fields.number.start' = '1', 'fields.number.end' = '{arguments.sales}'
        )
    """)
    t_env.execute_sql(f"""
        SELECT category, name, sold FROM (
            SELECT category, name, sold, ROW_NUMBER() OVER (PARTITION BY category ORDER BY sold DESC) AS place
            FROM (
                SELECT p.category, p.name, COUNT(*) AS sold
                FROM sales s JOIN products p ON s.product = p.id
                GROUP BY p.category, p.name
            )
        ) WHERE place <= {arguments.top}
    """).print()


if __name__ == "__main__":
    main(sys.argv[1:])
