"""Counts the words of a file, or of all files in a folder, and writes the counts as CSV.

funke run examples/batch_word_count.py --input README.md --output /tmp/word-count
"""

import argparse
import re
import sys

from pyflink.common import Encoder, Types, WatermarkStrategy
from pyflink.datastream import RuntimeExecutionMode, StreamExecutionEnvironment
from pyflink.datastream.connectors.file_system import (
    BucketAssigner,
    FileSink,
    FileSource,
    OutputFileConfig,
    StreamFormat,
)


def split_words(line):
    for word in re.findall(r"\w+", line.lower()):
        yield word, 1


def add_counts(left, right):
    return left[0], left[1] + right[1]


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--input", required=True)
    parser.add_argument("--output", required=True)
    arguments = parser.parse_args(argv)

    env = StreamExecutionEnvironment.get_execution_environment()
    # In batch mode a keyed stream gives one result per key, when the input has ended.
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)

    source = FileSource.for_record_stream_format(StreamFormat.text_line_format(), arguments.input).build()
    sink = (
        FileSink.for_row_format(arguments.output, Encoder.simple_string_encoder())
        .with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
        .with_output_file_config(OutputFileConfig.builder().with_part_prefix("counts").with_part_suffix(".csv").build())
        .build()
    )
    (
        env.from_source(source, WatermarkStrategy.no_watermarks(), "text files")
        .flat_map(split_words, output_type=Types.TUPLE([Types.STRING(), Types.LONG()]))
        .key_by(lambda word_and_count: word_and_count[0], key_type=Types.STRING())
        .reduce(add_counts)
        .map(lambda word_and_count: f"{word_and_count[0]},{word_and_count[1]}", output_type=Types.STRING())
        .sink_to(sink)
    )
    env.execute("Batch Word Count")


if __name__ == "__main__":
    main(sys.argv[1:])
