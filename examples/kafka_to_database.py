"""Sums the orders of a Kafka topic by customer, and keeps the sums in a table of PostgreSQL.

    funke run examples/kafka_to_database.py --servers localhost:9092 --topic orders \\
        --url jdbc:postgresql://localhost:5432/shop --user me --password secret

The table `spent (customer TEXT PRIMARY KEY, total NUMERIC, orders BIGINT)` must be there. Each new sum replaces the row
of its customer, so a restart that writes some of them again changes nothing. With --bounded it ends at the records that
are there when it starts.
"""

import argparse

from pyflink.table import EnvironmentSettings, TableEnvironment

parser = argparse.ArgumentParser()
parser.add_argument("--servers", default="localhost:9092")
parser.add_argument("--topic", default="orders")
parser.add_argument("--url", default="jdbc:postgresql://localhost:5432/shop")
parser.add_argument("--user", default="postgres")
parser.add_argument("--password", default="")
parser.add_argument("--bounded", action="store_true")
options = parser.parse_args()
password = options.password.replace("'", "''")

t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
t_env.get_config().set("execution.checkpointing.interval", "1 s")
end = ", 'scan.bounded.mode' = 'latest-offset'" if options.bounded else ""
t_env.execute_sql(f"""
    CREATE TABLE orders (customer STRING, price DECIMAL(10, 2)) WITH (
        'connector' = 'kafka', 'properties.bootstrap.servers' = '{options.servers}', 'topic' = '{options.topic}',
        'properties.group.id' = 'spent', 'scan.startup.mode' = 'earliest-offset', 'format' = 'json'{end}
    )
""")
t_env.execute_sql(f"""
    CREATE TABLE spent (
        customer STRING, total DECIMAL(38, 2), orders BIGINT, PRIMARY KEY (customer) NOT ENFORCED
    ) WITH (
        'connector' = 'jdbc', 'url' = '{options.url}', 'table-name' = 'spent',
        'username' = '{options.user}', 'password' = '{password}'
    )
""")
t_env.execute_sql("INSERT INTO spent SELECT customer, SUM(price), COUNT(*) FROM orders GROUP BY customer").wait()
