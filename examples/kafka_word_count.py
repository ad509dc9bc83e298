"""Counts the words in the lines of a Kafka topic and writes every new count to another topic, exactly once.

    funke run examples/kafka_word_count.py --servers localhost:9092 --source lines --target counts

It runs until it is cancelled; with --bounded it ends at the records that are there when it starts.
"""

import argparse

from pyflink.common import SimpleStringSchema, Types, WatermarkStrategy
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.connectors.base import DeliveryGuarantee
from pyflink.datastream.connectors.kafka import (
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
)

parser = argparse.ArgumentParser()
parser.add_argument("--servers", default="localhost:9092")
parser.add_argument("--source", default="lines")
parser.add_argument("--target", default="counts")
parser.add_argument("--bounded", action="store_true")
options = parser.parse_args()

env = StreamExecutionEnvironment.get_execution_environment()
# What is written becomes visible with each checkpoint.
env.enable_checkpointing(1000)

builder = (
    KafkaSource.builder()
    .set_bootstrap_servers(options.servers)
    .set_topics(options.source)
    .set_group_id("word-count")
    .set_starting_offsets(KafkaOffsetsInitializer.earliest())
    .set_value_only_deserializer(SimpleStringSchema())
)
if options.bounded:
    builder.set_bounded(KafkaOffsetsInitializer.latest())

record = (
    KafkaRecordSerializationSchema.builder()
    .set_topic(options.target)
    .set_value_serialization_schema(SimpleStringSchema())
    .build()
)
sink = (
    KafkaSink.builder()
    .set_bootstrap_servers(options.servers)
    .set_record_serializer(record)
    .set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE)
    .set_transactional_id_prefix("word-count")
    .build()
)

pair = Types.TUPLE([Types.STRING(), Types.INT()])
lines = env.from_source(builder.build(), WatermarkStrategy.no_watermarks(), "lines")
counts = lines.flat_map(lambda line: [(word, 1) for word in line.split()], pair).key_by(lambda word: word[0]).sum(1)
counts.map(lambda count: f"{count[0]} {count[1]}", Types.STRING()).sink_to(sink)
env.execute("Kafka word count")
