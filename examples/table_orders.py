"""Orders as a table: SQL with a Python function, then what each customer has spent, as it changes.

Run it with: funke run examples/table_orders.py
"""

from pyflink.datastream import StreamExecutionEnvironment
from pyflink.table import DataTypes, StreamTableEnvironment
from pyflink.table.expressions import col
from pyflink.table.udf import udf, udtf

ORDERS = [(1, "ada", "tea:2,cup:1"), (2, "bob", "tea:1"), (3, "ada", "pot:1")]
PRICES = {"tea": 4.5, "cup": 3.0, "pot": 20.0}


@udtf(result_types=[DataTypes.STRING(), DataTypes.INT()])
def items(text: str):
    """Give each item of an order with its number."""
    for item in text.split(","):
        name, number = item.split(":")
        yield name, int(number)


@udf(result_type=DataTypes.DOUBLE())
def price(item: str):
    """Look up what an item costs."""
    return PRICES[item]


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    t_env = StreamTableEnvironment.create(env)
    t_env.create_temporary_function("price", price)
    orders = t_env.from_elements(ORDERS, ["id", "customer", "content"])
    sold = orders.join_lateral(items(col("content")).alias("item", "number"))
    t_env.create_temporary_view("sold", sold)
    t_env.execute_sql("SELECT id, item, number * price(item) AS total FROM sold WHERE number > 0").print()
    t_env.execute_sql("SELECT customer, SUM(number * price(item)) AS spent FROM sold GROUP BY customer").print()


if __name__ == "__main__":
    main()
