"""Input that Spark itself reads: the rows of a DataFrame become the input of a source's subtasks."""

from __future__ import annotations

import contextlib
import pickle
import queue
import shutil
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from funke.engine.connectors.source import ReadOutcome, Split, SplitEnumerator
from funke.engine.connectors.spark.query_log import QueryLog, QueryPosition
from funke.engine.errors import SourceError
from funke.engine.runtime.blocks.frames import Frame
from funke.engine.trust.private_files import make_private_folder
from funke.engine.trust.run_folders import run_folder

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark import RDD
    from pyspark.sql import DataFrame, SparkSession

# What comes of the rows of a partition: (number of the partition, its Arrow batches) -> frames.
ReadPartition = Callable[[int, Iterator[Any]], Iterator[Frame]]


def spark_frames(rows: DataFrame, read: ReadPartition) -> RDD[Any]:
    """The blocks that come of a DataFrame's rows, each with the slot that it is for."""
    from pyspark import RDD
    from pyspark.serializers import CPickleSerializer

    def read_partition(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None
        for block in read(context.partitionId(), batches):
            pickled = pickle.dumps((block.slot, block[1:]), 5)
            yield pa.RecordBatch.from_arrays([pa.array([pickled], pa.binary())], names=["block"])

    # As bytes: what `rdd` would make of rows, Spark pickles byte by byte.
    context = rows.sparkSession.sparkContext
    encoders: Any = context._jvm.org.apache.spark.sql.Encoders  # type: ignore[union-attr]
    pickles = getattr(rows.mapInArrow(read_partition, "block binary")._jdf, "as")(encoders.BINARY())
    return RDD(pickles.javaRDD(), context, CPickleSerializer())


class SparkBatchEnumerator(SplitEnumerator):
    """A bounded DataFrame: one split, read in one epoch; a checkpoint knows whether that was done."""

    def __init__(self, source: Any, spark: SparkSession, restored: bool | None = None) -> None:
        self._frame: DataFrame | None = None if restored else source.load(spark)

    def poll(self, max_records: int) -> list[Split]:
        """The whole DataFrame, once."""
        frame, self._frame = self._frame, None
        return [] if frame is None else [Split("spark", frame)]

    @property
    def is_finished(self) -> bool:
        """True once it was handed out."""
        return self._frame is None

    def snapshot(self) -> bool:
        """Whether it was handed out."""
        return self._frame is None


class SparkStreamEnumerator(SplitEnumerator):
    """A streaming DataFrame: each micro-batch of its query waits until an epoch has taken it.

    A checkpoint takes the query's own log along, up to the batch that was read last; a restarted job puts it into a new
    folder, and the query goes on behind that batch.
    """

    def __init__(self, source: Any, spark: SparkSession, restored: QueryPosition | None = None) -> None:
        self._waiting: queue.SimpleQueue[tuple[DataFrame, int, list[str]]] = queue.SimpleQueue()
        self._batch_done = threading.Event()
        self._is_closed = False
        self._position = restored or QueryPosition()
        self._batch: tuple[int, list[str]] | None = None
        self._read: tuple[int, list[str]] | None = None
        frame = source.load(spark)
        options = dict(getattr(source, "trigger", None) or {})
        self._folder = make_private_folder("query-", run_folder())
        self._log = QueryLog(self._folder)
        self._log.put_back(self._position)
        writer = frame.writeStream.foreachBatch(self._on_batch).option("checkpointLocation", self._folder)
        self._query = (writer.trigger(**options) if options else writer).start()

    def _on_batch(self, frame: DataFrame, batch_id: int) -> None:
        if batch_id <= self._position.batch_id:
            return  # read before the checkpoint
        self._batch_done.clear()
        self._waiting.put((frame, batch_id, self._log.names_at(batch_id)))
        while not self._batch_done.wait(0.2):
            if self._is_closed:
                return

    def poll(self, max_records: int) -> list[Split]:
        """The micro-batch that waits, if any."""
        if self._waiting.empty():
            error = self._query.exception()
            if error is not None:
                raise SourceError(f"Spark's streaming query failed: {str(error).splitlines()[0]}")
            return []
        frame, batch_id, names = self._waiting.get()
        self._batch = batch_id, names
        return [Split("spark", frame, is_last=False)]

    def report(self, outcome: ReadOutcome) -> None:
        """The epoch is done: the query may go on."""
        self._read = self._batch
        self._batch_done.set()

    @property
    def is_finished(self) -> bool:
        """True when the query has ended by itself (a trigger such as availableNow)."""
        return not self._query.isActive and self._query.exception() is None and self._waiting.empty()

    def snapshot(self) -> QueryPosition:
        """The query's log up to the batch that was read last."""
        if self._read is not None and self._read[0] > self._position.batch_id:
            self._position = self._log.take(*self._read)
        return self._position

    def close(self) -> None:
        """Stops the query."""
        self._is_closed = True
        with contextlib.suppress(Exception):  # the query, or Spark itself, may have ended before
            self._query.stop()
        shutil.rmtree(self._folder, ignore_errors=True)
