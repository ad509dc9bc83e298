"""Keeps the newest count of each word in a table of a database: updates of a query become upserts.

    funke run examples/changelog_to_database.py [jdbc:postgresql://host:5432/shop user password]

Without a database it makes one in a file of SQLite. The table has a primary key, so each change of a count replaces the
row of its word.
"""

import sqlite3
import sys
import tempfile

from pyflink.table import EnvironmentSettings, TableEnvironment


def main(arguments):
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    if arguments:
        url, user, password = arguments
        login = f"'username' = '{user}', 'password' = '{password.replace(chr(39), chr(39) * 2)}',"
    else:
        path = f"{tempfile.mkdtemp()}/words.db"
        sqlite3.connect(path).execute("CREATE TABLE word_counts (word TEXT PRIMARY KEY, occurrences BIGINT)")
        url, login = f"jdbc:sqlite:{path}", ""
    t_env.execute_sql(f"""
        CREATE TABLE word_counts (word STRING, occurrences BIGINT, PRIMARY KEY (word) NOT ENFORCED) WITH (
            'connector' = 'jdbc', 'url' = '{url}', 'table-name' = 'word_counts', {login}
            'sink.buffer-flush.max-rows' = '500', 'sink.buffer-flush.interval' = '200 ms'
        )
    """)
    words = ["to", "be", "or", "not", "to", "be", "that", "is", "the", "question"]
    t_env.create_temporary_view("words", t_env.from_elements([(word,) for word in words], ["word"]))
    t_env.execute_sql("INSERT INTO word_counts SELECT word, COUNT(*) FROM words GROUP BY word").wait()
    # The table can be read as well; the database leaves out the rows that nobody wants.
    with t_env.execute_sql("SELECT word, occurrences FROM word_counts WHERE occurrences > 1").collect() as rows:
        for word, occurrences in sorted(tuple(row) for row in rows):
            print(word, occurrences)


if __name__ == "__main__":
    main(sys.argv[1:])
