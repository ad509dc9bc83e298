"""How long a record takes from a producer through a topic, a job and another topic to a consumer.

python -m funke run kafka_latency.py job SERVERS SOURCE TARGET     (Funke)
python kafka_latency.py job SERVERS SOURCE TARGET JAR              (PyFlink, from its own environment)
python kafka_latency.py write SERVERS SOURCE                       (1 000 records a second with the time in them)
python kafka_latency.py read SERVERS TARGET WARM_UP_S MEASURED_S   (prints LATENCY <p50> <p99> <records>, in ms)

The job ends with its standard input, the writer when it is terminated. The reader counts from the first record on. All
settings are the defaults, also those of the writer: its client lets records wait for others for 5 ms.
"""

import sys
import time

PER_SECOND = 1_000
# Of the whole record: 200 bytes.
PAD = "x" * 170
LONGEST_START_S, LONGEST_PAUSE_S = 120.0, 20.0


def job(servers, source, target, jar=None):
    from pyflink.common import SimpleStringSchema, Types, WatermarkStrategy
    from pyflink.datastream import StreamExecutionEnvironment
    from pyflink.datastream.connectors.base import DeliveryGuarantee
    from pyflink.datastream.connectors.kafka import (
        KafkaOffsetsInitializer,
        KafkaRecordSerializationSchema,
        KafkaSink,
        KafkaSource,
    )

    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    if jar:
        env.add_jars(f"file://{jar}")
    reading = (
        KafkaSource.builder()
        .set_bootstrap_servers(servers)
        .set_topics(source)
        .set_group_id("latency")
        .set_starting_offsets(KafkaOffsetsInitializer.earliest())
        .set_value_only_deserializer(SimpleStringSchema())
        .build()
    )
    record = KafkaRecordSerializationSchema.builder().set_topic(target)
    record = record.set_value_serialization_schema(SimpleStringSchema()).build()
    sink = KafkaSink.builder().set_bootstrap_servers(servers).set_record_serializer(record)
    sink = sink.set_delivery_guarantee(DeliveryGuarantee.AT_LEAST_ONCE).build()
    lines = env.from_source(reading, WatermarkStrategy.no_watermarks(), "lines")
    lines.map(lambda line: line.upper(), Types.STRING()).sink_to(sink)
    client = env.execute_async("latency")
    sys.stdin.readline()
    client.cancel().result()


def write(servers, topic):
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": servers})
    began, sent = time.time(), 0
    while True:
        while sent < (time.time() - began) * PER_SECOND:
            producer.produce(topic, f"{time.time()!r},{sent},{PAD}", partition=sent % 4)
            sent += 1
        producer.poll(0)
        time.sleep(0.001)


def read(servers, topic, warm_up_s, measured_s):
    from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

    consumer = Consumer({"bootstrap.servers": servers, "group.id": "latency-reader", "enable.auto.commit": False})
    consumer.assign([TopicPartition(topic, number, OFFSET_BEGINNING) for number in range(4)])
    assert consumer.poll(LONGEST_START_S) is not None, "nothing has come"
    begin = time.time() + float(warm_up_s)
    end, now, ages = begin + float(measured_s), 0.0, []
    while now < end:
        message = consumer.poll(LONGEST_PAUSE_S)
        assert message is not None, "no more has come"
        now, sent = time.time(), float(message.value().split(b",", 1)[0])
        if sent >= begin:
            ages.append((now - sent) * 1000)
    ages.sort()
    print("LATENCY", *(round(ages[int(len(ages) * share)], 2) for share in (0.5, 0.99)), len(ages))


if __name__ == "__main__":
    {"job": job, "write": write, "read": read}[sys.argv[1]](*sys.argv[2:])
