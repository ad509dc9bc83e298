"""Both interfaces in one job: a stream becomes a table, SQL counts it, and a stream takes the changes of the counts.

funke run examples/sql_and_streams.py
"""

import sys

from pyflink.common import Row, Types
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.table import StreamTableEnvironment

CLICKS = [("ada", "/"), ("bob", "/"), ("ada", "/cart"), ("eve", "/"), ("ada", "/pay"), ("bob", "/cart")]


def main(argv=None):
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    t_env = StreamTableEnvironment.create(env)

    clicks = env.from_collection(
        [Row(*click) for click in CLICKS], Types.ROW_NAMED(["who", "page"], [Types.STRING()] * 2)
    )
    t_env.create_temporary_view("clicks", clicks)
    counts = t_env.sql_query("SELECT who, COUNT(*) AS clicks FROM clicks GROUP BY who")

    changes = t_env.to_changelog_stream(counts)
    changes.map(lambda row: f"{row.get_row_kind()} {row[0]}: {row[1]}", Types.STRING()).print()
    env.execute("Clicks")


if __name__ == "__main__":
    main(sys.argv[1:])
