"""The jobs on Kafka that are measured; the same file runs on Funke and on PyFlink.

python -m funke kafka_jobs.py JOB SERVERS TOPIC PARALLELISM WARM_UP_TOPIC [JAR]     (Funke)
python kafka_jobs.py JOB SERVERS TOPIC PARALLELISM WARM_UP_TOPIC JAR                (PyFlink, from its own environment)
python kafka_jobs.py bare SERVERS TOPIC PARALLELISM                                 (the client alone, in processes)

Prints `SECONDS x` for the second run (the first one, on the small warm-up topic, pays for starting up).
"""

import json
import sys
import time
from concurrent.futures import ProcessPoolExecutor


def bare_partitions(servers, topic, numbers):
    """Consumes some partitions to the ends that they have now; returns how many messages that were."""
    from confluent_kafka import Consumer, TopicPartition

    consumer = Consumer({"bootstrap.servers": servers, "group.id": "bare", "enable.auto.commit": False})
    indexes = [TopicPartition(topic, number, 0) for number in numbers]
    total = sum(consumer.get_watermark_offsets(index)[1] for index in indexes)
    consumer.assign(indexes)
    count = 0
    while count < total:
        count += len(consumer.consume(5000, 0.1))
    consumer.close()
    return count


def bare(servers, topic, parallelism):
    with ProcessPoolExecutor(parallelism) as pool:
        list(pool.map(len, [()] * parallelism))
        began = time.perf_counter()
        shares = [list(range(4))[share::parallelism] for share in range(parallelism)]
        list(pool.map(bare_partitions, [servers] * parallelism, [topic] * parallelism, shares))
        print("SECONDS", time.perf_counter() - began)


def environment(parallelism, jar):
    from pyflink.datastream import StreamExecutionEnvironment

    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(parallelism)
    if jar:
        env.add_jars(f"file://{jar}")
    return env


def lines(env, servers, topic):
    from pyflink.common import SimpleStringSchema, WatermarkStrategy
    from pyflink.datastream.connectors.kafka import KafkaOffsetsInitializer, KafkaSource

    source = (
        KafkaSource.builder()
        .set_bootstrap_servers(servers)
        .set_topics(topic)
        .set_group_id("bench")
        .set_starting_offsets(KafkaOffsetsInitializer.earliest())
        .set_bounded(KafkaOffsetsInitializer.latest())
        .set_value_only_deserializer(SimpleStringSchema())
        .build()
    )
    return env.from_source(source, WatermarkStrategy.no_watermarks(), "lines")


def parse(text):
    record = json.loads(text)
    return record["key"], 1


def keyed_count(env, servers, topic):
    from jobs import discarding_sink

    from pyflink.common import Types

    pairs = lines(env, servers, topic).map(parse, Types.TUPLE([Types.STRING(), Types.INT()]))
    pairs.key_by(lambda pair: pair[0], Types.STRING()).sum(1).sink_to(discarding_sink())


def read(env, servers, topic):
    from jobs import discarding_sink

    lines(env, servers, topic).sink_to(discarding_sink())


def copy(env, servers, topic, guarantee):
    from pyflink.common import SimpleStringSchema
    from pyflink.datastream.connectors.kafka import KafkaRecordSerializationSchema, KafkaSink

    env.enable_checkpointing(1000)
    record = KafkaRecordSerializationSchema.builder().set_topic("bench-copies")
    record = record.set_value_serialization_schema(SimpleStringSchema()).build()
    sink = KafkaSink.builder().set_bootstrap_servers(servers).set_record_serializer(record)
    sink = sink.set_delivery_guarantee(guarantee).set_transactional_id_prefix("bench")
    lines(env, servers, topic).sink_to(sink.build())


def copy_at_least_once(env, servers, topic):
    from pyflink.datastream.connectors.base import DeliveryGuarantee

    copy(env, servers, topic, DeliveryGuarantee.AT_LEAST_ONCE)


def copy_exactly_once(env, servers, topic):
    from pyflink.datastream.connectors.base import DeliveryGuarantee

    copy(env, servers, topic, DeliveryGuarantee.EXACTLY_ONCE)


def sql(parallelism, servers, topic, jar):
    from pyflink.table import EnvironmentSettings, TableEnvironment

    tables = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    tables.get_config().set("parallelism.default", str(parallelism))
    if jar:
        tables.get_config().set("pipeline.jars", f"file://{jar}")
    tables.execute_sql(
        f"""CREATE TABLE records (id BIGINT, `key` STRING) WITH ('connector' = 'kafka', 'topic' = '{topic}',
        'properties.bootstrap.servers' = '{servers}', 'scan.startup.mode' = 'earliest-offset',
        'scan.bounded.mode' = 'latest-offset', 'format' = 'json')"""
    )
    tables.execute_sql("CREATE TABLE counts (`key` STRING, n BIGINT) WITH ('connector' = 'blackhole')")
    tables.execute_sql("INSERT INTO counts SELECT `key`, COUNT(*) FROM records GROUP BY `key`").wait()


def run(job, servers, topic, parallelism, jar):
    began = time.perf_counter()
    if job == "sql":
        sql(parallelism, servers, topic, jar)
    else:
        env = environment(parallelism, jar)
        globals()[job](env, servers, topic)
        env.execute(job)
    return time.perf_counter() - began


if __name__ == "__main__":
    job, servers, topic, parallelism, *more = sys.argv[1:]
    if job == "bare":
        bare(servers, topic, int(parallelism))
    else:
        warm_up, jar = more[0], more[1] if len(more) > 1 else None
        run(job, servers, warm_up, int(parallelism), jar)
        print("SECONDS", run(job, servers, topic, int(parallelism), jar))
