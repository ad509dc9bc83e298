"""PyFlink's names over the sinks of the engine."""

from __future__ import annotations

import pickle

import pytest

from funke.common.serialization import BulkWriterFactory, Encoder
from funke.common.time import Duration
from funke.common.typeinfo import Types
from funke.common.types import Row
from funke.datastream.connectors.base import DeliveryGuarantee, Sink, Source
from funke.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
from funke.datastream.connectors.discard import DiscardingSink
from funke.datastream.connectors.file_system import (
    BucketAssigner,
    FileCompactor,
    FileCompactStrategy,
    FileEnumeratorProvider,
    FileSink,
    FileSource,
    FileSplitAssignerProvider,
    OutputFileConfig,
    RollingPolicy,
    StreamFormat,
    StreamingFileSink,
)
from funke.datastream.connectors.python import PythonSink, PythonSinkWriter
from funke.datastream.connectors.spark import SparkSink, SparkSource
from funke.engine.connectors.discard import DiscardSink
from funke.engine.connectors.file_sink.arrow_formats import ParquetBulkFormat
from funke.engine.connectors.file_sink.compaction import CompactStrategy, ConcatCompactor
from funke.engine.errors import ConfigurationError, SourceError, UnsupportedFeatureError
from tests.unit.connectors.sink_harness import SinkHarness, files_below

JAVA_DISCARDING_SINK = "org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink"


def run(sink, values, input_type=None, now_ms=0):
    engine_sink = pickle.loads(pickle.dumps(sink.engine_sink))
    writer = engine_sink.create_writer(SinkHarness(now_ms).context(input_type))
    writer.write(values, None)
    writer.flush(True)
    engine_sink.create_committer().commit(writer.prepare_commit())
    writer.close()


def test_a_sink_needs_a_path():
    with pytest.raises(ConfigurationError, match=r"The file path must not be null or blank\.\n  in your job: "):
        FileSink.for_row_format(" ", Encoder.simple_string_encoder()).build()


def test_a_row_format_sink_is_built_as_in_pyflink(tmp_path):
    sink = (
        FileSink.for_row_format(f"file://{tmp_path}", Encoder.simple_string_encoder("UTF-8"))
        .with_bucket_check_interval(1000)
        .with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
        .with_output_file_config(OutputFileConfig.builder().with_part_prefix("pre").with_part_suffix(".ext").build())
        .with_rolling_policy(RollingPolicy.default_rolling_policy(1, 15 * 60 * 1000, 5 * 60 * 1000))
        .disable_compact()
        .build()
    )
    run(sink, ["a", "b"])
    assert files_below(tmp_path) == {"pre-#-0.ext": b"a\n", "pre-#-1.ext": b"b\n"}
    assert sink.get_transformer() is None
    assert sink.engine_sink.check_interval_ms == 1000


def test_defaults_are_those_of_pyflink(tmp_path):
    sink = FileSink.for_row_format(str(tmp_path), Encoder.simple_string_encoder()).build().engine_sink
    policy = sink.rolling_policy
    assert (policy.part_size, policy.rollover_interval_ms, policy.inactivity_interval_ms) == (1 << 27, 60_000, 60_000)
    assert (sink.bucket_assigner.pattern, sink.bucket_assigner.zone_id) == ("yyyy-MM-dd--HH", None)
    assert (sink.file_config.prefix, sink.file_config.suffix, sink.check_interval_ms) == ("part", "", 60_000)


def test_date_time_buckets(tmp_path):
    assigner = BucketAssigner.date_time_bucket_assigner("'day='yyyy-MM-dd", "GMT+01:00")
    builder = FileSink.for_row_format(str(tmp_path), Encoder.simple_string_encoder())
    run(builder.with_bucket_assigner(assigner).build(), ["a"], now_ms=23 * 3_600_000)
    assert files_below(tmp_path) == {"day=1970-01-02/part-#-0": b"a\n"}


class ByParity(BucketAssigner):
    def get_bucket_id(self, element, context):
        return "even" if element % 2 == 0 else "odd"


def test_bucket_assigners_can_be_written_in_python(tmp_path):
    builder = FileSink.for_row_format(str(tmp_path), Encoder.simple_string_encoder())
    run(builder.with_bucket_assigner(ByParity()).build(), [1, 2, 3])
    assert files_below(tmp_path) == {"odd/part-#-0": b"1\n3\n", "even/part-#-0": b"2\n"}


class Upper(Encoder):
    def to_writer(self, type_info):
        return lambda value: value.upper().encode() + b";"


def test_encoders_can_be_written_in_python(tmp_path):
    builder = FileSink.for_row_format(str(tmp_path), Upper())
    run(builder.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner()).build(), ["a", "b"])
    assert files_below(tmp_path) == {"part-#-0": b"A;B;"}


def test_what_is_no_encoder_or_bulk_format_is_rejected(tmp_path):
    with pytest.raises(ConfigurationError, match="Encoder"):
        FileSink.for_row_format(str(tmp_path), str)
    with pytest.raises(ConfigurationError, match="writer factory"):
        FileSink.for_bulk_format(str(tmp_path), object())


@pytest.mark.parametrize("sink_class", [FileSink, StreamingFileSink])
def test_bulk_formats_roll_on_checkpoints_only(tmp_path, sink_class):
    factory = BulkWriterFactory(ParquetBulkFormat())
    builder = sink_class.for_bulk_format(str(tmp_path), factory)
    assert builder.with_rolling_policy(RollingPolicy.on_checkpoint_rolling_policy()) is builder
    with pytest.raises(ValueError, match="on_checkpoint_rolling_policy"):
        builder.with_rolling_policy(RollingPolicy.default_rolling_policy())


def test_compaction_is_switched_on_and_off(tmp_path):
    strategy = FileCompactStrategy.builder().enable_compaction_on_checkpoint(3).set_size_threshold(1024).build()
    builder = FileSink.for_row_format(str(tmp_path), Encoder.simple_string_encoder())
    sink = builder.enable_compact(strategy, FileCompactor.concat_file_compactor(b"\n")).build().engine_sink

    assert sink.compact_strategy == CompactStrategy(num_checkpoints=3, size_threshold=1024)
    assert sink.compactor == ConcatCompactor(b"\n")
    assert builder.disable_compact().build().engine_sink.compactor is None
    with pytest.raises(ConfigurationError, match=r"not compacted record by record: use concat_file_compactor\(\)"):
        builder.enable_compact(strategy, FileCompactor.record_wise_file_compactor(StreamFormat.text_line_format()))


def test_the_older_sink_warns_and_leaves_files_hidden_without_checkpoints(tmp_path):
    builder = StreamingFileSink.for_row_format(str(tmp_path), Encoder.simple_string_encoder())
    with pytest.warns(DeprecationWarning, match="FileSink"):
        sink = builder.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner()).build()
    run(sink, ["a"])
    assert files_below(tmp_path) == {".part-0-0.inprogress.#": b"a\n"}


def test_file_sources_are_bounded_unless_monitored(tmp_path):
    (tmp_path / "in.txt").write_text("a\nb\n")
    builder = FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(tmp_path))
    assert builder.build().engine_source.is_bounded
    assert not builder.monitor_continuously(Duration.of_seconds(1)).build().engine_source.is_bounded
    assert builder.process_static_file_set().build().engine_source.is_bounded
    with pytest.raises(ConfigurationError, match="positive"):
        builder.monitor_continuously(Duration.of_millis(0))


def test_json_lines_are_rows_or_what_json_gives(tmp_path):
    (tmp_path / "in.json").write_text('{"a": 1}\n{"a"\n')

    def read(*arguments):
        stream_format = StreamFormat.json_line_format(*arguments)
        source = FileSource.for_record_stream_format(stream_format, str(tmp_path)).build().engine_source
        (split,) = source.create_enumerator(1).poll(100)
        return [value for values, _ in source.create_reader().read(split) for value in values]

    assert read(None, True) == [{"a": 1}]
    assert read(Types.ROW_NAMED(["a"], [Types.INT()]), True) == [Row(a=1)]
    with pytest.raises(SourceError, match="a line is not JSON"):
        read()


def test_the_non_splittable_enumerator_reads_each_file_in_one_piece(tmp_path):
    (tmp_path / "in.txt").write_text("".join(f"line {i:06}\n" for i in range(50_000)))

    def count_splits(enumerator):
        builder = FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(tmp_path))
        builder.set_split_assigner(FileSplitAssignerProvider.locality_aware_split_assigner())
        source = builder.set_file_enumerator(enumerator).build().engine_source
        splits, results = source.create_enumerator(4), []
        while not splits.is_finished:
            results += splits.poll(2_000)
        lines = [line for split in results for values, _ in source.create_reader().read(split) for line in values]
        assert (len(lines), lines[-1]) == (50_000, "line 049999")
        return len(results)

    assert count_splits(FileEnumeratorProvider.default_splittable_file_enumerator()) > 1
    assert count_splits(FileEnumeratorProvider.default_non_splittable_file_enumerator()) == 1


def test_java_classes_are_rejected_but_for_the_discarding_sink():
    assert isinstance(Sink(JAVA_DISCARDING_SINK).engine_sink, DiscardSink)
    assert isinstance(DiscardingSink().engine_sink, DiscardSink)
    with pytest.raises(UnsupportedFeatureError, match=r"com\.example\.Sink"):
        Sink("com.example.Sink")
    with pytest.raises(UnsupportedFeatureError, match=r"com\.example\.Source"):
        Source("com.example.Source")
    with pytest.raises(ConfigurationError, match="list"):
        Sink([])


def test_delivery_guarantees_have_pyflinks_names():
    assert [guarantee.name for guarantee in DeliveryGuarantee] == ["EXACTLY_ONCE", "AT_LEAST_ONCE", "NONE"]


class FileLikeWriter(PythonSinkWriter):
    def open(self, context):
        self.lines = []

    def write(self, value):
        self.lines.append(value)

    def prepare_commit(self):
        return [self.lines]


committed = []


class FileLikeSink(PythonSink):
    def create_writer(self):
        return FileLikeWriter()

    def commit(self, committables):
        committed.extend(committables)


def test_a_python_sink_is_its_own_facade():
    run(FileLikeSink(), [1, 2])
    assert committed == [[1, 2]]


def test_the_generator_source_takes_a_function_or_an_object_with_map():
    class Squares:
        def map(self, index):
            return index * index

    for function in (lambda index: index * index, Squares()):
        source = DataGeneratorSource(function, 4, Types.LONG(), RateLimiterStrategy.no_op()).engine_source
        (split,) = source.create_enumerator(1).poll(100)
        assert [value for values, _ in source.create_reader().read(split) for value in values] == [0, 1, 4, 9]
    assert not DataGeneratorSource(abs, None).engine_source.is_bounded
    assert not DataGeneratorSource(abs, (1 << 63) - 1).engine_source.is_bounded


def test_rates_must_be_positive():
    assert RateLimiterStrategy.per_second(5).records_per_second == 5
    with pytest.raises(ConfigurationError, match="not positive"):
        RateLimiterStrategy.per_second(0)
    with pytest.raises(ConfigurationError, match="records per checkpoint is not positive"):
        RateLimiterStrategy.per_checkpoint(-1)


def test_a_generator_goes_on_when_a_checkpoint_is_complete():
    source = DataGeneratorSource(abs, 25, Types.LONG(), RateLimiterStrategy.per_checkpoint(10)).engine_source
    enumerator = source.create_enumerator(2)

    def indices():
        return [(split.payload.start, split.payload.end) for split in enumerator.poll(100)]

    assert indices() == [(0, 5), (5, 10)]
    assert indices() == [] and not enumerator.is_finished
    enumerator.notify_checkpoint_complete(1)
    assert indices() == [(10, 15), (15, 20)]
    enumerator.notify_checkpoint_complete(2)
    enumerator.notify_checkpoint_complete(3)
    assert indices() == [(20, 22), (22, 25)] and enumerator.is_finished


def test_spark_reads_tables_or_streams():
    assert SparkSource(lambda spark: spark.read.table("t")).engine_source.is_bounded
    assert not SparkSource(lambda spark: spark.readStream.load(), is_streaming=True).engine_source.is_bounded


def test_the_spark_sink_passes_its_settings_on():
    sink = SparkSink(format="parquet", path="/data", options={"compression": "zstd"}, partition_by=["day"]).engine_sink
    assert (sink.format, sink.path, sink.mode, sink.partition_by) == ("parquet", "/data", "append", ("day",))
    assert sink.options == {"compression": "zstd"}
