"""Follows a table of PostgreSQL and writes every change of a row to a compacted Kafka topic, by its key.

    funke run examples/changes_to_kafka.py --servers localhost:9092 --topic items \\
        --host localhost --port 5432 --database shop --user me --password secret

The table `items (id BIGINT PRIMARY KEY, name TEXT, price NUMERIC(10, 2))` must be there, and the server needs
`wal_level = logical`. First come the rows that are there, then each change; a row that is deleted becomes a record
without a value. It runs until it is cancelled; with --snapshot it ends behind the rows that are there.
"""

import argparse

from pyflink.table import EnvironmentSettings, TableEnvironment

parser = argparse.ArgumentParser()
parser.add_argument("--servers", default="localhost:9092")
parser.add_argument("--topic", default="items")
parser.add_argument("--host", default="localhost")
parser.add_argument("--port", default="5432")
parser.add_argument("--database", default="shop")
parser.add_argument("--user", default="postgres")
parser.add_argument("--password", default="")
parser.add_argument("--snapshot", action="store_true")
options = parser.parse_args()
password = options.password.replace("'", "''")

t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
t_env.get_config().set("execution.checkpointing.interval", "1 s")
# Written by key, the topic needs no rows as they were before, so that the table needs no REPLICA IDENTITY FULL.
t_env.execute_sql(f"""
    CREATE TABLE items (id BIGINT, name STRING, price DECIMAL(10, 2), PRIMARY KEY (id) NOT ENFORCED) WITH (
        'connector' = 'postgres-cdc', 'hostname' = '{options.host}', 'port' = '{options.port}',
        'database-name' = '{options.database}', 'schema-name' = 'public', 'table-name' = 'items',
        'username' = '{options.user}', 'password' = '{password}', 'slot.name' = 'items_to_kafka',
        'changelog-mode' = 'upsert', 'scan.startup.mode' = '{"snapshot" if options.snapshot else "initial"}'
    )
""")
t_env.execute_sql(f"""
    CREATE TABLE topic (id BIGINT, name STRING, price DECIMAL(10, 2), PRIMARY KEY (id) NOT ENFORCED) WITH (
        'connector' = 'upsert-kafka', 'properties.bootstrap.servers' = '{options.servers}',
        'topic' = '{options.topic}', 'key.format' = 'json', 'value.format' = 'json'
    )
""")
t_env.execute_sql("INSERT INTO topic SELECT id, name, price FROM items").wait()
