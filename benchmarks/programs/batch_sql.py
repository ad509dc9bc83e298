"""Queries in batch mode: a PyFlink program that runs unchanged on PyFlink and on Funke, and their twins in Spark SQL.

python batch_sql.py QUERY FORM INPUT PARALLELISM WARM_UP_INPUT [KEY=VALUE ...]

FORM is csv or parquet (files of the connector filesystem), spark (Parquet read and written by the connector spark), or
plain (Spark SQL alone, on Parquet). Prints the seconds from INSERT to the end of the job, warm, the processor seconds
of all processes meanwhile, and the megabytes that the largest Python process and Java had at most.
"""

import shutil
import sys
import tempfile
import threading
import time

from process_tree import cpu_s, peak_memory

COLUMNS = """
    kind INT, date_time TIMESTAMP(3), n1 BIGINT, n2 BIGINT, n3 BIGINT, n4 BIGINT, n5 BIGINT, ends TIMESTAMP(3),
    s1 STRING, s2 STRING, s3 STRING, s4 STRING, s5 STRING, extra STRING
"""
SOURCES = {
    "csv": "'connector' = 'filesystem', 'path' = '{path}', 'format' = 'csv'",
    "parquet": "'connector' = 'filesystem', 'path' = '{path}', 'format' = 'parquet'",
    "spark": "'connector' = 'spark', 'path' = '{path}', 'format' = 'parquet'",
}
SORTED = "n1 BIGINT, n2 BIGINT, n3 BIGINT, date_time TIMESTAMP(3), s1 STRING, extra STRING"
# Name -> the columns of the sink, and the query.
QUERIES = {
    "group": (
        "n2 BIGINT, many BIGINT, total BIGINT, most BIGINT",
        "SELECT n2, COUNT(*), SUM(n3), MAX(n3) FROM events WHERE kind = 2 GROUP BY n2",
    ),
    "decimals": (
        "n2 BIGINT, total DECIMAL(38, 3), average DOUBLE",
        "SELECT n2, SUM(CAST(n3 AS DECIMAL(20, 3))), AVG(CAST(n3 AS DOUBLE)) FROM events WHERE kind = 2 GROUP BY n2",
    ),
    "join": (
        "n1 BIGINT, n2 BIGINT, n3 BIGINT, n4 BIGINT, s1 STRING",
        "SELECT b.n1, b.n2, b.n3, a.n4, a.s1 FROM events AS b JOIN events AS a ON b.n1 = a.n1 "
        "WHERE b.kind = 2 AND a.kind = 1",
    ),
    "sort": (SORTED, "SELECT n1, n2, n3, date_time, s1, extra FROM events WHERE kind = 2 ORDER BY n3, n1"),
    "copy": (SORTED, "SELECT n1, n2, n3 + 1 AS n3, date_time, s1, extra FROM events WHERE kind = 2 AND n3 > 1000"),
}


def run_tables(query, form, path, parallelism, options):
    from pyflink.table import EnvironmentSettings, TableEnvironment

    t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    t_env.get_config().set("parallelism.default", parallelism)
    for option in options:
        key, _, value = option.partition("=")
        t_env.get_config().set(key, value)
    columns, text = QUERIES[query]
    folder = tempfile.mkdtemp()
    sink = "'connector' = 'blackhole'"
    if query == "copy":
        sink = f"'connector' = 'spark', 'path' = '{folder}/out', 'format' = 'parquet'"
    t_env.execute_sql(f"CREATE TABLE events ({COLUMNS}) WITH ({SOURCES[form].format(path=path)})")
    t_env.execute_sql(f"CREATE TABLE sink ({columns}) WITH ({sink})")
    try:
        t_env.execute_sql(f"INSERT INTO sink {text}").wait()
    finally:
        shutil.rmtree(folder)


def run_plain(query, path, spark):
    spark.read.parquet(path).createOrReplaceTempView("events")
    frame = spark.sql(QUERIES[query][1])
    if query == "sort":
        # In one task, as whoever reads an order is one reader.
        frame = spark.sql(QUERIES[query][1].partition(" ORDER BY ")[0]).repartition(1).sortWithinPartitions("n3", "n1")
    folder = tempfile.mkdtemp()
    try:
        if query == "copy":
            frame.write.parquet(f"{folder}/out")
        else:
            frame.write.format("noop").mode("overwrite").save()
    finally:
        shutil.rmtree(folder)


def plain_session(parallelism):
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(f"local[{parallelism}]").config("spark.ui.enabled", "false")
    return builder.config("spark.sql.shuffle.partitions", parallelism).getOrCreate()


def main(query, form, path, parallelism, warm_up, *options):
    if form == "plain":
        spark = plain_session(parallelism)
        spark.sparkContext.setLogLevel("ERROR")

    def run(path):
        if form == "plain":
            run_plain(query, path, spark)
        else:
            run_tables(query, form, path, parallelism, options)

    run(warm_up)
    is_over, peaks = threading.Event(), {}
    watcher = threading.Thread(target=peak_memory, args=(is_over, peaks))
    watcher.start()
    began, cpu = time.perf_counter(), cpu_s()
    run(path)
    print("SECONDS", time.perf_counter() - began)
    print("CPU", cpu_s() - cpu)
    is_over.set()
    watcher.join()
    for name, megabytes in peaks.items():
        print("MEMORY", name, round(megabytes))


if __name__ == "__main__":
    main(*sys.argv[1:])
