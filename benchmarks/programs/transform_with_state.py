"""The keyed count with Spark's own stateful Python API, over the same files.

python transform_with_state.py INPUT PARALLELISM
"""

import os
import sys
import tempfile
import time

os.environ["PYSPARK_PYTHON"] = sys.executable
import pandas as pd
from pyspark.sql import SparkSession
from pyspark.sql.functions import col, split
from pyspark.sql.streaming import StatefulProcessor


class CountPerKey(StatefulProcessor):
    def init(self, handle):
        self.count = handle.getValueState("count", "total long")

    def handleInputRows(self, key, rows, timerValues):
        stored = self.count.get()
        total = stored[0] if stored is not None else 0
        for frame in rows:
            totals = range(total + 1, total + len(frame) + 1)
            total += len(frame)
            yield pd.DataFrame({"key": frame["key"], "total": totals})
        self.count.update((total,))

    def close(self):
        pass


def main(folder, parallelism):
    spark = (
        SparkSession.builder.master(f"local[{parallelism}]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", parallelism)
        .config(
            "spark.sql.streaming.stateStore.providerClass",
            "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
        )
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    cells = split(col("value"), ",")
    rows = (
        spark.readStream.option("maxFilesPerTrigger", 1)
        .text(folder)
        .select(
            cells.getItem(0).alias("key"),
            cells.getItem(1).cast("long").alias("ts"),
            cells.getItem(2).cast("double").alias("value"),
        )
    )
    counts = rows.groupBy("key").transformWithStateInPandas(
        statefulProcessor=CountPerKey(), outputStructType="key string, total long", outputMode="Append", timeMode="None"
    )
    started = time.perf_counter()
    query = (
        counts.writeStream.format("noop")
        .outputMode("append")
        .option("checkpointLocation", tempfile.mkdtemp())
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    return time.perf_counter() - started, query


if __name__ == "__main__":
    seconds, query = main(sys.argv[1], int(sys.argv[2]))
    first = query.recentProgress[0]["batchDuration"] / 1000
    batches = len(query.recentProgress)
    # The first micro-batch warms everything up; what it took beyond the others' mean is not counted.
    others = (seconds - first) / max(1, batches - 1)
    print("SECONDS", seconds - max(0.0, first - others))
