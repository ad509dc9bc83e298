"""Nexmark's queries: a PyFlink program that runs unchanged on PyFlink and on Funke.

python nexmark.py QUERY INPUT PARALLELISM WARM_UP_INPUT [KEY=VALUE ...]

Prints the seconds from INSERT to the end of the job, warm, and the processor seconds of all processes meanwhile.
"""

import sys
import time

from process_tree import cpu_s

from pyflink.table import DataTypes, EnvironmentSettings, TableEnvironment
from pyflink.table.udf import AggregateFunction, udaf, udf

EVENTS = """
    CREATE TABLE events (
        kind INT, date_time TIMESTAMP(3), n1 BIGINT, n2 BIGINT, n3 BIGINT, n4 BIGINT, n5 BIGINT, ends TIMESTAMP(3),
        s1 STRING, s2 STRING, s3 STRING, s4 STRING, s5 STRING, extra STRING,
        WATERMARK FOR date_time AS date_time - INTERVAL '4' SECOND
    ) WITH ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'csv')
"""
BIDS = """
    CREATE TEMPORARY VIEW bid AS
    SELECT n1 AS auction, n2 AS bidder, n3 AS price, s1 AS channel, s2 AS url, date_time, extra
    FROM events WHERE kind = 2
"""
PLAIN_BID = "auction BIGINT, bidder BIGINT, price BIGINT, date_time TIMESTAMP(3), extra STRING"
RANKS = {"rank1": "price < 10000", "rank2": "price >= 10000 AND price < 1000000", "rank3": "price >= 1000000"}


def counts(argument):
    return ", ".join(f"COUNT({argument}) FILTER (WHERE {condition})" for condition in RANKS.values())


BIGINTS = ", ".join(f"c{place} BIGINT" for place in range(12))
DISTINCT_COUNTS = ", ".join(
    f"COUNT({argument}), {counts(argument)}" for argument in ("*", "DISTINCT bidder", "DISTINCT auction")
)
CHANNEL_ID = "REGEXP_EXTRACT(url, '(&|^)channel_id=([^&]*)', 2)"

# Name -> the columns of the sink, and the query.
QUERIES = {
    "q0": (PLAIN_BID, "SELECT auction, bidder, price, date_time, extra FROM bid"),
    "q1": (
        "auction BIGINT, bidder BIGINT, price DECIMAL(23, 3), date_time TIMESTAMP(3), extra STRING",
        "SELECT auction, bidder, 0.908 * price, date_time, extra FROM bid",
    ),
    "q2": ("auction BIGINT, price BIGINT", "SELECT auction, price FROM bid WHERE MOD(auction, 123) = 0"),
    "q14": (
        "auction BIGINT, bidder BIGINT, price DECIMAL(23, 3), part STRING, date_time TIMESTAMP(3), extra STRING, c INT",
        """SELECT auction, bidder, 0.908 * price,
                CASE WHEN HOUR(date_time) >= 8 AND HOUR(date_time) <= 18 THEN 'dayTime'
                     WHEN HOUR(date_time) <= 6 OR HOUR(date_time) >= 20 THEN 'nightTime' ELSE 'otherTime' END,
                date_time, extra, CHAR_LENGTH(extra) - CHAR_LENGTH(REPLACE(extra, 'c', ''))
           FROM bid WHERE 0.908 * price > 1000000 AND 0.908 * price < 50000000""",
    ),
    "q21": (
        "auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, channel_id STRING",
        f"""SELECT auction, bidder, price, channel,
                 CASE LOWER(channel) WHEN 'apple' THEN '0' WHEN 'google' THEN '1' WHEN 'facebook' THEN '2'
                      WHEN 'baidu' THEN '3' ELSE {CHANNEL_ID} END
            FROM bid
            WHERE {CHANNEL_ID} IS NOT NULL OR LOWER(channel) IN ('apple', 'google', 'facebook', 'baidu')""",
    ),
    "q22": (
        "auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, dir1 STRING, dir2 STRING, dir3 STRING",
        """SELECT auction, bidder, price, channel,
                SPLIT_INDEX(url, '/', 3), SPLIT_INDEX(url, '/', 4), SPLIT_INDEX(url, '/', 5) FROM bid""",
    ),
    "q15": (
        f"`day` STRING, {BIGINTS}",
        f"""SELECT DATE_FORMAT(date_time, 'yyyy-MM-dd'), {DISTINCT_COUNTS}
            FROM bid GROUP BY DATE_FORMAT(date_time, 'yyyy-MM-dd')""",
    ),
    "q16": (
        f"channel STRING, `day` STRING, `minute` STRING, {BIGINTS}",
        f"""SELECT channel, DATE_FORMAT(date_time, 'yyyy-MM-dd'), MAX(DATE_FORMAT(date_time, 'HH:mm')),
                   {DISTINCT_COUNTS}
            FROM bid GROUP BY channel, DATE_FORMAT(date_time, 'yyyy-MM-dd')""",
    ),
    "q17": (
        "auction BIGINT, `day` STRING, total BIGINT, rank1 BIGINT, rank2 BIGINT, rank3 BIGINT, "
        "lowest BIGINT, highest BIGINT, average BIGINT, summed BIGINT",
        f"""SELECT auction, DATE_FORMAT(date_time, 'yyyy-MM-dd'), COUNT(*), {counts("*")},
                   MIN(price), MAX(price), AVG(price), SUM(price)
            FROM bid GROUP BY auction, DATE_FORMAT(date_time, 'yyyy-MM-dd')""",
    ),
    "q5_windows": (
        "auction BIGINT, num BIGINT, starttime TIMESTAMP(3), endtime TIMESTAMP(3)",
        """SELECT auction, COUNT(*), window_start, window_end
           FROM TABLE(HOP(TABLE bid, DESCRIPTOR(date_time), INTERVAL '2' SECOND, INTERVAL '10' SECOND))
           GROUP BY auction, window_start, window_end""",
    ),
    "q7_windows": (
        "maxprice BIGINT, starttime TIMESTAMP(3), endtime TIMESTAMP(3)",
        """SELECT MAX(price), window_start, window_end
           FROM TABLE(TUMBLE(TABLE bid, DESCRIPTOR(date_time), INTERVAL '10' SECOND))
           GROUP BY window_start, window_end""",
    ),
    "q11": (
        "bidder BIGINT, bids BIGINT, starttime TIMESTAMP(3), endtime TIMESTAMP(3)",
        """SELECT bidder, COUNT(*), SESSION_START(date_time, INTERVAL '10' SECOND),
                  SESSION_END(date_time, INTERVAL '10' SECOND)
           FROM bid GROUP BY bidder, SESSION(date_time, INTERVAL '10' SECOND)""",
    ),
    "q12": (
        "bidder BIGINT, bids BIGINT, starttime TIMESTAMP(3), endtime TIMESTAMP(3)",
        """SELECT bidder, COUNT(*), window_start, window_end
           FROM TABLE(TUMBLE(
               (SELECT *, PROCTIME() AS p_time FROM bid), DESCRIPTOR(p_time), INTERVAL '10' SECOND))
           GROUP BY bidder, window_start, window_end""",
    ),
}
COLUMNS, CHANNELS = QUERIES["q21"]
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
    found = HOT.get(channel.lower())
    if found is None:
        found = url.partition("&channel_id=")[2].partition("&")[0]
    return found


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
    t_env.execute_sql(BIDS)
    t_env.execute_sql(f"CREATE TABLE sink ({columns}) WITH ('connector' = 'blackhole')")
    began, cpu = time.perf_counter(), cpu_s()
    t_env.execute_sql(f"INSERT INTO sink {text}").wait()
    return time.perf_counter() - began, cpu_s() - cpu


if __name__ == "__main__":
    query, path, parallelism, warm_up, *options = sys.argv[1:]
    run(query, warm_up, parallelism, options)
    seconds, cpu = run(query, path, parallelism, options)
    print("SECONDS", seconds)
    print("CPU", cpu)
