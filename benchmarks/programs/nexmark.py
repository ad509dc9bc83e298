"""Nexmark's queries: a PyFlink program that runs unchanged on PyFlink and on Funke.

python nexmark.py QUERY INPUT PARALLELISM WARM_UP_INPUT [KEY=VALUE ...]

Prints the seconds from INSERT to the end of the job, warm, and the processor seconds of all processes meanwhile.
"""

import sys
import tempfile
import time

from nexmark_queries import EVENTS, QUERIES, SIDE_INPUT, SINKS, VIEWS
from process_tree import cpu_s

from pyflink.table import DataTypes, EnvironmentSettings, TableEnvironment
from pyflink.table.udf import AggregateFunction, udaf, udf

COLUMNS, _ = QUERIES["q21"]
BY_FUNCTION = (
    "SELECT auction, bidder, price, channel, channel_id(url, channel) FROM bid WHERE channel_id(url, channel) <> ''"
)
QUERIES["q21_udf"] = QUERIES["q21_pandas"] = (COLUMNS, BY_FUNCTION)
QUERIES["udaf"] = (
    "bidder BIGINT, average DOUBLE",
    "SELECT MOD(bidder, 1000), weighted(price, auction) FROM bid GROUP BY MOD(bidder, 1000)",
)

HOT = {"apple": "0", "google": "1", "facebook": "2", "baidu": "3"}


def id_of(url, channel):
    number = HOT.get(channel.lower())
    if number is None:
        number = url.partition("&channel_id=")[2].partition("&")[0]
    return number


class Weighted(AggregateFunction):
    def create_accumulator(self):
        return [0, 0]

    def accumulate(self, accumulator, value, weight):
        accumulator[0] += value * weight
        accumulator[1] += weight

    def get_value(self, accumulator):
        return accumulator[0] / accumulator[1] if accumulator[1] else None

    def get_result_type(self):
        return DataTypes.DOUBLE()

    def get_accumulator_type(self):
        return DataTypes.ARRAY(DataTypes.BIGINT())


def register(t_env, query):
    if query == "q21_udf":
        t_env.create_temporary_function("channel_id", udf(id_of, result_type=DataTypes.STRING()))
    elif query == "q21_pandas":

        def ids_of(urls, channels):
            import pandas

            return pandas.Series([id_of(url, channel) for url, channel in zip(urls, channels)])

        t_env.create_temporary_function("channel_id", udf(ids_of, result_type=DataTypes.STRING(), func_type="pandas"))
    elif query == "udaf":
        t_env.create_temporary_function("weighted", udaf(Weighted()))


def run(query, path, parallelism, options):
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.get_config().set("parallelism.default", parallelism)
    t_env.get_config().set("pipeline.object-reuse", "true")
    for option in options:
        key, _, value = option.partition("=")
        t_env.get_config().set(key, value)
    columns, text = QUERIES[query]
    register(t_env, query)
    t_env.execute_sql(EVENTS.format(path=path))
    t_env.execute_sql(SIDE_INPUT.format(path=f"{path}/../side-input.csv"))
    for view in VIEWS.values():
        t_env.execute_sql(view)
    with tempfile.TemporaryDirectory() as folder:
        sink = SINKS.get(query, "WITH ('connector' = 'blackhole')").format(path=folder)
        t_env.execute_sql(f"CREATE TABLE sink ({columns}) {sink}")
        began, cpu = time.perf_counter(), cpu_s()
        t_env.execute_sql(f"INSERT INTO sink {text}").wait()
        return time.perf_counter() - began, cpu_s() - cpu


if __name__ == "__main__":
    query, path, parallelism, warm_up, *options = sys.argv[1:]
    run(query, warm_up, parallelism, options)
    seconds, cpu = run(query, path, parallelism, options)
    print("SECONDS", seconds)
    print("CPU", cpu)
