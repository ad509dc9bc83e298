"""Counts the words of a file in SQL, and prints every change of the counts.

funke run examples/sql_word_count.py --input README.md
"""

import argparse
import re
import sys

from pyflink.table import DataTypes, EnvironmentSettings, TableEnvironment
from pyflink.table.udf import udtf


@udtf(result_types=[DataTypes.STRING()])
def words_of(line):
    yield from re.findall(r"\w+", line.lower())


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--input", required=True)
    arguments = parser.parse_args(argv)

    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.create_temporary_function("words_of", words_of)
    t_env.execute_sql(f"""
        CREATE TABLE texts (line STRING)
        WITH ('connector' = 'filesystem', 'path' = '{arguments.input}', 'format' = 'raw')
    """)
    t_env.execute_sql("CREATE TABLE counts (word STRING, number BIGINT) WITH ('connector' = 'print')")
    t_env.execute_sql("""
        INSERT INTO counts
        SELECT word, COUNT(*) FROM texts, LATERAL TABLE(words_of(line)) AS t(word) GROUP BY word
    """).wait()


if __name__ == "__main__":
    main(sys.argv[1:])
