"""Counts the first words of a text's lines in SQL, and prints every change of the counts.

funke run examples/sql_word_count.py --input README.md
"""

import argparse
import re
import sys

from pyflink.table import DataTypes, EnvironmentSettings, TableEnvironment
from pyflink.table.udf import udf


@udf(result_type=DataTypes.STRING())
def first_word(line):
    found = re.search(r"\w+", line)
    return found.group().lower() if found else None


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--input", required=True)
    arguments = parser.parse_args(argv)

    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.create_temporary_function("first_word", first_word)
    t_env.execute_sql(f"""
        CREATE TABLE texts (line STRING)
        WITH ('connector' = 'filesystem', 'path' = '{arguments.input}', 'format' = 'raw')
    """)
    t_env.execute_sql("CREATE TABLE counts (word STRING, lines BIGINT) WITH ('connector' = 'print')")
    t_env.execute_sql("""
        INSERT INTO counts
        SELECT first_word(line) AS word, COUNT(*) FROM texts WHERE first_word(line) IS NOT NULL GROUP BY first_word(line)
    """).wait()


if __name__ == "__main__":
    main(sys.argv[1:])
