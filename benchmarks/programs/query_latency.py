"""How long a bid takes from its source through Nexmark's q17 to a sink, while so many bids are offered each second.

python query_latency.py EVENTS_PER_SECOND SECONDS [KEY=VALUE ...]

Prints LATENCY <p50> <p99> <bids per second that came> in milliseconds. The clock is read when a batch of bids leaves
its source, and when the change of their group is about to be written; both are functions on whole batches.
"""

import os
import sys
import tempfile
import time

import numpy as np
from nexmark_queries import DAY, counts

from pyflink.table import DataTypes, EnvironmentSettings, TableEnvironment
from pyflink.table.udf import ScalarFunction, udf

FOLDER = tempfile.mkdtemp()
WARM_UP_S = 5


class Stamp(ScalarFunction):
    """When the bids of a batch leave the source, in microseconds."""

    def eval(self, prices):
        import pandas

        return pandas.Series(np.full(len(prices), time.time_ns() // 1000))

    def is_deterministic(self):
        return False


class Age(ScalarFunction):
    """Notes how long ago the last bids of groups left their source."""

    def open(self, function_context):
        self.sent, self.ages = [], []

    def eval(self, sent):
        now = time.time_ns() // 1000
        values = sent.to_numpy()
        self.sent.append(values)
        self.ages.append(now - values)
        return sent

    def close(self):
        if self.sent:
            np.save(
                os.path.join(FOLDER, f"{os.getpid()}-{id(self)}.npy"), list(map(np.concatenate, (self.sent, self.ages)))
            )


def run(rate, seconds, options):
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.get_config().set("parallelism.default", "2")
    for option in options:
        key, _, value = option.partition("=")
        t_env.get_config().set(key, value)
    t_env.create_temporary_function("stamp", udf(Stamp(), result_type=DataTypes.BIGINT(), func_type="pandas"))
    t_env.create_temporary_function("age", udf(Age(), result_type=DataTypes.BIGINT(), func_type="pandas"))
    t_env.execute_sql(
        f"""CREATE TABLE offered (auction BIGINT, price BIGINT, date_time AS LOCALTIMESTAMP) WITH (
            'connector' = 'datagen', 'rows-per-second' = '{rate}', 'number-of-rows' = '{rate * (WARM_UP_S + seconds)}',
            'fields.auction.min' = '1000', 'fields.auction.max' = '11000',
            'fields.price.min' = '100', 'fields.price.max' = '2000000')"""
    )
    t_env.execute_sql("CREATE TEMPORARY VIEW bid AS SELECT *, stamp(price) AS sent FROM offered")
    t_env.execute_sql(
        """CREATE TABLE sink (auction BIGINT, `day` STRING, total BIGINT, rank1 BIGINT, rank2 BIGINT, rank3 BIGINT,
            lowest BIGINT, highest BIGINT, average BIGINT, summed BIGINT, sent BIGINT)
            WITH ('connector' = 'blackhole')"""
    )
    t_env.execute_sql(
        f"""INSERT INTO sink
            SELECT auction, `day`, total, rank1, rank2, rank3, lowest, highest, average, summed, age(sent)
            FROM (
                SELECT auction, {DAY} AS `day`, COUNT(*) AS total, {counts("*")}, MIN(price) AS lowest,
                    MAX(price) AS highest, AVG(price) AS average, SUM(price) AS summed, MAX(sent) AS sent
                FROM bid GROUP BY auction, {DAY}
            ) AS t (auction, `day`, total, rank1, rank2, rank3, lowest, highest, average, summed, sent)"""
    ).wait()


if __name__ == "__main__":
    rate, seconds, *options = sys.argv[1:]
    run(int(rate), int(seconds), options)
    sent, ages = np.concatenate([np.load(os.path.join(FOLDER, name)) for name in os.listdir(FOLDER)], axis=1)
    is_warm = sent >= sent.min() + WARM_UP_S * 1_000_000
    ages, span_s = ages[is_warm] / 1000, (sent.max() - sent[is_warm].min()) / 1_000_000
    print("LATENCY", *np.percentile(ages, (50, 99)).round(2), round(len(ages) / span_s))
