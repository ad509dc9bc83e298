"""Kafka sources and sinks: PyFlink's builders."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from enum import Enum
from typing import Any

from funke.common.serialization import DeserializationSchema, SerializationSchema, SimpleStringSchema
from funke.common.typeinfo import TypeInformation
from funke.datastream.connectors.base import DeliveryGuarantee, Sink, Source, StreamTransformer, SupportsPreprocessing
from funke.datastream.connectors.kept_settings import Choice, KeptSettings
from funke.datastream.functions import SinkFunction, SourceFunction
from funke.engine.connectors.kafka import sink as engine_sinks
from funke.engine.connectors.kafka.client_properties import ClientProperties
from funke.engine.connectors.kafka.offsets import Offsets, Partition
from funke.engine.connectors.kafka.record_schemas import SchemaRecords
from funke.engine.connectors.kafka.records import KafkaRecord, RecordReader, TextReader, ValueReader, WholeRecordReader
from funke.engine.connectors.kafka.sink import Guarantee
from funke.engine.connectors.kafka.source import KafkaSource as EngineSource
from funke.engine.connectors.kafka.subscription import Subscription
from funke.engine.errors import ConfigurationError, UnsupportedFeatureError, at_user_line
from funke.engine.types.enum_members import require_member
from funke.passed_on_names import pass_on_names

__all__ = [
    "FlinkKafkaConsumer",
    "FlinkKafkaProducer",
    "Semantic",
    "KafkaSource",
    "KafkaSourceBuilder",
    "KafkaSink",
    "KafkaSinkBuilder",
    "KafkaTopicPartition",
    "KafkaOffsetsInitializer",
    "KafkaOffsetResetStrategy",
    "KafkaRecord",
    "KafkaRecordDeserializer",
    "KafkaRecordSerializationSchema",
    "KafkaRecordSerializationSchemaBuilder",
    "KafkaTopicSelector",
]

pass_on_names(__name__)


class Semantic(Enum):
    """The guarantee of the older producer.

    >>> from funke.common import SimpleStringSchema
    >>> from funke.datastream.connectors.kafka import FlinkKafkaProducer, Semantic
    >>> broker = {"bootstrap.servers": "localhost:9092"}
    >>> sink = FlinkKafkaProducer("words", SimpleStringSchema(), broker, semantic=Semantic.EXACTLY_ONCE)
    >>> type(sink).__name__
    'FlinkKafkaProducer'
    """

    EXACTLY_ONCE = (0,)
    AT_LEAST_ONCE = (1,)
    NONE = 2


class KafkaOffsetResetStrategy(Enum):
    """Where reading starts when there is no valid offset.

    >>> from funke.datastream.connectors.kafka import KafkaOffsetResetStrategy, KafkaOffsetsInitializer
    >>> KafkaOffsetsInitializer.committed_offsets(KafkaOffsetResetStrategy.EARLIEST).kind  # earliest without a commit
    'committed_offsets'
    """

    LATEST = 0
    EARLIEST = 1
    NONE = 2


class FlinkKafkaConsumerBase(KeptSettings, SourceFunction, ABC):
    """Settings of the older source."""

    _topics: tuple[str, ...]
    _schema: DeserializationSchema
    _starting: Offsets

    def set_commit_offsets_on_checkpoints(self, commit_on_checkpoints: bool) -> FlinkKafkaConsumerBase:
        """Choose whether offsets are committed with checkpoints."""
        return self._keep_property("commit.offsets.on.checkpoint", commit_on_checkpoints)

    def set_start_from_earliest(self) -> FlinkKafkaConsumerBase:
        """Start at the first record."""
        return self._start_from(Offsets("earliest"))

    def set_start_from_latest(self) -> FlinkKafkaConsumerBase:
        """Start with the records to come."""
        return self._start_from(Offsets("latest", reset="latest"))

    def set_start_from_timestamp(self, startup_offsets_timestamp: int) -> FlinkKafkaConsumerBase:
        """Start at the first record that is not older."""
        return self._start_from(Offsets("timestamp", "latest", startup_offsets_timestamp))

    def set_start_from_group_offsets(self) -> FlinkKafkaConsumerBase:
        """Start at the offsets the group has committed."""
        return self._start_from(_group_offsets(self.properties))

    def _start_from(self, offsets: Offsets) -> FlinkKafkaConsumerBase:
        self._starting = offsets
        return self

    def disable_filter_restored_partitions_with_subscribed_topics(self) -> FlinkKafkaConsumerBase:
        """Read partitions that a checkpoint knows, whether their topics are still named or not: it is always so."""
        return self

    def get_produced_type(self) -> TypeInformation:
        """Return the type of the elements."""
        return self._schema.get_produced_type()

    @property
    def engine_source(self) -> EngineSource:
        """What the engine reads."""
        properties = {"partition.discovery.interval.ms": "-1", "client.id.prefix": "funke", **self.properties}
        # The older source looks for partitions only if a discovery interval is set.
        properties.setdefault("commit.offsets.on.checkpoint", "true")
        if "flink.partition-discovery.interval-millis" in properties:
            properties["partition.discovery.interval.ms"] = properties["flink.partition-discovery.interval-millis"]
        return EngineSource(
            _consumer_properties(properties),
            Subscription(topics=self._topics),
            _values_of(self._schema),
            self._starting,
            produced_type=self._schema.get_produced_type(),
        )


class FlinkKafkaConsumer(FlinkKafkaConsumerBase):
    """The older source.

    >>> import warnings
    >>> from funke.common import SimpleStringSchema
    >>> from funke.datastream import StreamExecutionEnvironment
    >>> from funke.datastream.connectors.kafka import FlinkKafkaConsumer
    >>> with warnings.catch_warnings(action="ignore"):  # it is deprecated: use KafkaSource
    ...     words = FlinkKafkaConsumer("words", SimpleStringSchema(), {"bootstrap.servers": "localhost:9092"})
    >>> env = StreamExecutionEnvironment.get_execution_environment()
    >>> env.add_source(words.set_start_from_earliest(), "words").get_name()
    'words'
    """

    def __init__(
        self, topics: str | list[str], deserialization_schema: DeserializationSchema, properties: dict[str, str]
    ) -> None:
        super().__init__()
        self._topics = (topics,) if isinstance(topics, str) else tuple(topics)
        self._schema = deserialization_schema
        self._keep_properties(properties)
        self._starting = _group_offsets(self.properties)
        warnings.warn("Deprecated in 1.16. Use KafkaSource instead.", DeprecationWarning, stacklevel=2)


def _group_offsets(properties: dict[str, Any]) -> Offsets:
    """Where the group stands; where it has not been, as `auto.offset.reset` says."""
    reset = str(properties.get("auto.offset.reset", "latest"))
    return Offsets("committed" if properties.get("group.id") else "latest", _reset(reset))


class FlinkKafkaProducerBase(KeptSettings, SinkFunction, ABC):
    """Settings of the older sink."""

    _topic: str
    _schema: SerializationSchema
    _semantic: Semantic
    _writes_timestamps = False
    _flushes = True

    def set_log_failures_only(self, log_failures_only: bool) -> FlinkKafkaProducerBase:
        """Choose whether failures are only logged."""
        if log_failures_only:
            raise UnsupportedFeatureError("set_log_failures_only(True)", "a record that is lost fails the job")
        return self

    def set_flush_on_checkpoint(self, flush_on_checkpoint: bool) -> FlinkKafkaProducerBase:
        """Choose whether a checkpoint waits for pending records."""
        self._flushes = flush_on_checkpoint
        return self

    def set_write_timestamp_to_kafka(self, write_timestamp_to_kafka: bool) -> FlinkKafkaProducerBase:
        """Choose whether timestamps are written."""
        self._writes_timestamps = write_timestamp_to_kafka
        return self

    @property
    def engine_sink(self) -> engine_sinks.KafkaSink:
        """What the engine writes to."""
        guarantee = _SEMANTICS[self._semantic]
        if guarantee == "at-least-once" and not self._flushes:
            guarantee = "none"
        records = SchemaRecords(self._schema.serialize, topic=self._topic, has_timestamps=self._writes_timestamps)
        return engine_sinks.KafkaSink(_producer_properties(self.properties), records, guarantee, f"funke-{self._topic}")


class FlinkKafkaProducer(FlinkKafkaProducerBase):
    """The older sink.

    >>> from funke.common import SimpleStringSchema
    >>> from funke.datastream import StreamExecutionEnvironment
    >>> from funke.datastream.connectors.kafka import FlinkKafkaProducer
    >>> sink = FlinkKafkaProducer("words", SimpleStringSchema(), {"bootstrap.servers": "localhost:9092"})
    >>> words = StreamExecutionEnvironment.get_execution_environment().from_collection(["to", "be"])
    >>> type(words.add_sink(sink)).__name__  # KafkaSink is newer
    'DataStreamSink'
    """

    def __init__(
        self,
        topic: str,
        serialization_schema: SerializationSchema,
        producer_config: dict[str, str],
        kafka_producer_pool_size: int = 5,
        semantic: Semantic = Semantic.AT_LEAST_ONCE,
    ) -> None:
        super().__init__()
        require_member(Semantic, semantic, "FlinkKafkaProducer")
        self._topic = topic
        self._schema = serialization_schema
        self._semantic = semantic
        # Producers are made as they are needed, however many the pool may have.
        self._keep_properties(producer_config)

    def ignore_failures_after_transaction_timeout(self) -> FlinkKafkaProducer:
        """Go on when transactions have timed out: nothing is lost here, they are written again."""
        return self


class KafkaSource(Source):
    """Reads topics.

    >>> from funke.common import SimpleStringSchema, WatermarkStrategy
    >>> from funke.datastream import StreamExecutionEnvironment
    >>> from funke.datastream.connectors.kafka import KafkaOffsetsInitializer, KafkaSource
    >>> source = (
    ...     KafkaSource.builder()
    ...     .set_bootstrap_servers("localhost:9092")
    ...     .set_topics("words")
    ...     .set_group_id("counts")
    ...     .set_starting_offsets(KafkaOffsetsInitializer.earliest())
    ...     .set_value_only_deserializer(SimpleStringSchema())
    ...     .build()
    ... )
    >>> env = StreamExecutionEnvironment.get_execution_environment()
    >>> env.from_source(source, WatermarkStrategy.no_watermarks(), "words").get_name()
    'words'
    """

    @staticmethod
    def builder() -> KafkaSourceBuilder:
        """Start the settings of a source."""
        return KafkaSourceBuilder()


class KafkaSourceBuilder(KeptSettings):
    """Collects the settings of a source.

    >>> from funke.common import SimpleStringSchema
    >>> from funke.datastream.connectors.kafka import KafkaOffsetsInitializer, KafkaSource, KafkaSourceBuilder
    >>> builder: KafkaSourceBuilder = KafkaSource.builder().set_bootstrap_servers("localhost:9092")
    >>> builder = builder.set_topic_pattern("orders-.*").set_bounded(KafkaOffsetsInitializer.latest())
    >>> source = builder.set_value_only_deserializer(SimpleStringSchema()).build()  # read until now, and end
    >>> type(source).__name__
    'KafkaSource'
    """

    def set_bootstrap_servers(self, bootstrap_servers: str) -> KafkaSourceBuilder:
        """Set the bootstrap servers."""
        return self._keep(bootstrap_servers=bootstrap_servers)

    def set_group_id(self, group_id: str) -> KafkaSourceBuilder:
        """Set the group id."""
        return self._keep(group_id=group_id)

    def set_topics(self, *topics: str) -> KafkaSourceBuilder:
        """Set the topics."""
        return self._subscribe("topics", topics)

    def set_topic_pattern(self, topic_pattern: str) -> KafkaSourceBuilder:
        """Set the topic pattern."""
        return self._subscribe("topic pattern", topic_pattern)

    def set_partitions(self, partitions: set[KafkaTopicPartition]) -> KafkaSourceBuilder:
        """Set the partitions."""
        return self._subscribe("partitions", partitions)

    def _subscribe(self, kind: str, what: Any) -> KafkaSourceBuilder:
        kept = self.settings.get("subscription")
        if kept is not None:
            raise ConfigurationError(
                at_user_line(f"Cannot use {kind} for consumption because {kept[0]} is already set for consumption.")
            )
        return self._keep(subscription=(kind, what))

    def set_starting_offsets(self, starting_offsets_initializer: KafkaOffsetsInitializer) -> KafkaSourceBuilder:
        """Set the starting offsets."""
        return self._keep(starting_offsets=starting_offsets_initializer)

    def set_unbounded(self, stopping_offsets_initializer: KafkaOffsetsInitializer) -> KafkaSourceBuilder:
        """Stop at the given offsets, in an unbounded job."""
        return self._keep(stopping=stopping_offsets_initializer, is_bounded=False)

    def set_bounded(self, stopping_offsets_initializer: KafkaOffsetsInitializer) -> KafkaSourceBuilder:
        """Stop at the given offsets, and end."""
        return self._keep(stopping=stopping_offsets_initializer, is_bounded=True)

    def set_value_only_deserializer(self, deserialization_schema: DeserializationSchema) -> KafkaSourceBuilder:
        """Set the value only deserializer."""
        return self._keep(records=_values_of(deserialization_schema), type=deserialization_schema.get_produced_type())

    def set_deserializer(self, record_deserializer: KafkaRecordDeserializer) -> KafkaSourceBuilder:
        """Set what turns whole records, with key, headers and timestamp, into elements (beyond PyFlink)."""
        return self._keep(
            records=WholeRecordReader(record_deserializer.deserialize_record),
            type=record_deserializer.get_produced_type(),
        )

    def set_client_id_prefix(self, prefix: str) -> KafkaSourceBuilder:
        """Set the client id prefix."""
        return self._keep_property("client.id.prefix", prefix)

    def set_property(self, key: str, value: str) -> KafkaSourceBuilder:
        """Set the property."""
        return self._keep_property(key, value)

    def set_properties(self, props: dict[str, str]) -> KafkaSourceBuilder:
        """Set the properties."""
        return self._keep_properties(props)

    def build(self) -> KafkaSource:
        """Return the source."""
        settings = self.settings
        names = {"bootstrap_servers": "bootstrap.servers", "group_id": "group.id"}
        properties = self.properties | {names[key]: value for key, value in settings.items() if key in names}
        if not properties.get("bootstrap.servers"):
            raise ConfigurationError(at_user_line("Property bootstrap.servers is required but not provided"))
        if settings.get("subscription") is None:
            raise ConfigurationError(
                at_user_line("No topic is set: call set_topics(), set_topic_pattern() or set_partitions()")
            )
        if settings.get("records") is None:
            raise ConfigurationError(at_user_line("Deserialization schema is required but not provided."))
        records: RecordReader = settings["records"]
        starting: KafkaOffsetsInitializer | None = settings.get("starting_offsets")
        stopping: KafkaOffsetsInitializer | None = settings.get("stopping")
        starts = Offsets("earliest") if starting is None else starting.to_offsets()
        if starts.kind == "committed" and not properties.get("group.id"):
            raise ConfigurationError(
                at_user_line("Property group.id is required when starting from committed offsets: call set_group_id()")
            )
        return KafkaSource(
            EngineSource(
                _consumer_properties(properties),
                _subscription(*settings["subscription"]),
                records,
                starts,
                None if stopping is None else stopping.to_offsets(),
                bool(settings.get("is_bounded", False)),
                settings["type"],
            )
        )


def _values_of(schema: DeserializationSchema) -> RecordReader:
    # A class derived from it may do something else.
    return TextReader(schema.charset) if type(schema) is SimpleStringSchema else ValueReader(schema.deserialize)


def _subscription(kind: str, what: Any) -> Subscription:
    if kind == "topics":
        return Subscription(topics=tuple(what))
    if kind == "topic pattern":
        return Subscription(pattern=what)
    return Subscription(partitions=tuple(sorted(each.to_partition() for each in what)))


def _consumer_properties(properties: dict[str, Any]) -> ClientProperties:
    from confluent_kafka import Consumer

    def create(settings: dict[str, Any]) -> None:
        Consumer({"group.id": "funke", **settings}).close()

    return ClientProperties.of(properties).checked(create, "consumer")


def _producer_properties(properties: dict[str, Any]) -> ClientProperties:
    from confluent_kafka import Producer

    return ClientProperties.of(properties).checked(Producer, "producer")


class KafkaRecordDeserializer(DeserializationSchema, ABC):
    """Turns whole records into elements (PyFlink has it in Java only).

    >>> from funke.datastream.connectors.kafka import KafkaRecordDeserializer, KafkaSource
    >>> class WithTopic(KafkaRecordDeserializer):
    ...     def deserialize_record(self, record):
    ...         return record.topic, record.value.decode()
    >>> builder = KafkaSource.builder().set_bootstrap_servers("localhost:9092").set_topics("orders", "returns")
    >>> type(builder.set_deserializer(WithTopic()).build()).__name__
    'KafkaSource'
    """

    @abstractmethod
    def deserialize_record(self, record: KafkaRecord) -> Any:
        """Return the element of a record: its topic, partition, offset, timestamp, key, value and headers."""

    def deserialize(self, message: bytes) -> Any:
        """Not used: a record is more than its value."""
        raise NotImplementedError


class KafkaTopicPartition:
    """One partition of a topic.

    >>> from funke.datastream.connectors.kafka import KafkaOffsetsInitializer, KafkaTopicPartition
    >>> starts = {KafkaTopicPartition("orders", 0): 42, KafkaTopicPartition("orders", 1): 0}
    >>> KafkaOffsetsInitializer.offsets(starts).kind, KafkaTopicPartition("orders", 0)
    ('offsets', KafkaTopicPartition('orders', 0))
    """

    def __init__(self, topic: str, partition: int) -> None:
        self._topic = topic
        self._partition = partition

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, KafkaTopicPartition):
            return False
        return (self._topic, self._partition) == (other._topic, other._partition)

    def __hash__(self) -> int:
        return hash((self._topic, self._partition))

    def __repr__(self) -> str:
        return f"KafkaTopicPartition({self._topic!r}, {self._partition})"

    def to_partition(self) -> Partition:
        """Return what the engine calls it."""
        return Partition(self._topic, self._partition)


class KafkaOffsetsInitializer(Choice):
    """Where reading starts or stops.

    >>> from funke.datastream.connectors.kafka import KafkaOffsetsInitializer
    >>> KafkaOffsetsInitializer.earliest(), KafkaOffsetsInitializer.timestamp(1_700_000_000_000)
    (KafkaOffsetsInitializer.earliest(), KafkaOffsetsInitializer.timestamp(timestamp=1700000000000))
    """

    @staticmethod
    def committed_offsets(
        offset_reset_strategy: KafkaOffsetResetStrategy = KafkaOffsetResetStrategy.NONE,
    ) -> KafkaOffsetsInitializer:
        """The offsets the group has committed."""
        require_member(KafkaOffsetResetStrategy, offset_reset_strategy, "committed_offsets()")
        return KafkaOffsetsInitializer("committed_offsets", offset_reset_strategy=offset_reset_strategy)

    @staticmethod
    def timestamp(timestamp: int) -> KafkaOffsetsInitializer:
        """The first record that is not older than `timestamp`."""
        return KafkaOffsetsInitializer("timestamp", timestamp=timestamp)

    @staticmethod
    def earliest() -> KafkaOffsetsInitializer:
        """The first record."""
        return KafkaOffsetsInitializer("earliest")

    @staticmethod
    def latest() -> KafkaOffsetsInitializer:
        """The end of the partition at the start of the job."""
        return KafkaOffsetsInitializer("latest")

    @staticmethod
    def offsets(
        offsets: dict[KafkaTopicPartition, int],
        offset_reset_strategy: KafkaOffsetResetStrategy = KafkaOffsetResetStrategy.EARLIEST,
    ) -> KafkaOffsetsInitializer:
        """The given offsets, and for other partitions what `offset_reset_strategy` says."""
        require_member(KafkaOffsetResetStrategy, offset_reset_strategy, "offsets()")
        return KafkaOffsetsInitializer("offsets", offsets=offsets, offset_reset_strategy=offset_reset_strategy)

    def to_offsets(self) -> Offsets:
        """Return what the engine calls it."""
        arguments = self.arguments
        if self.kind in ("earliest", "latest"):
            return Offsets(self.kind, self.kind)  # type: ignore[arg-type]
        if self.kind == "timestamp":
            return Offsets("timestamp", "latest", arguments["timestamp"])
        reset = _reset(arguments["offset_reset_strategy"].name)
        if self.kind == "committed_offsets":
            return Offsets("committed", reset)
        return Offsets("offsets", reset, numbers={each.to_partition(): n for each, n in arguments["offsets"].items()})


def _reset(name: str) -> Any:
    return {"none": "none", "latest": "latest", "largest": "latest"}.get(name.lower(), "earliest")


class KafkaSink(Sink, SupportsPreprocessing):
    """Writes topics.

    >>> from funke.common import SimpleStringSchema, Types
    >>> from funke.datastream import StreamExecutionEnvironment
    >>> from funke.datastream.connectors.kafka import KafkaRecordSerializationSchema, KafkaSink
    >>> words = KafkaRecordSerializationSchema.builder().set_topic("words")
    >>> sink = (
    ...     KafkaSink.builder()
    ...     .set_bootstrap_servers("localhost:9092")
    ...     .set_record_serializer(words.set_value_serialization_schema(SimpleStringSchema()).build())
    ...     .build()
    ... )
    >>> env = StreamExecutionEnvironment.get_execution_environment()
    >>> type(env.from_collection(["to", "be"], Types.STRING()).sink_to(sink)).__name__
    'DataStreamSink'
    """

    def __init__(self, sink: Any, transformer: StreamTransformer | None = None) -> None:
        super().__init__(sink)
        self._transformer = transformer

    @staticmethod
    def builder() -> KafkaSinkBuilder:
        """Start the settings of a sink."""
        return KafkaSinkBuilder()

    def get_transformer(self) -> StreamTransformer | None:
        """Return what prepares the stream for the sink, or None."""
        return self._transformer


class KafkaSinkBuilder(KeptSettings):
    """Collects the settings of a sink.

    >>> from funke.common import SimpleStringSchema
    >>> from funke.datastream.connectors.base import DeliveryGuarantee
    >>> from funke.datastream.connectors.kafka import KafkaRecordSerializationSchema, KafkaSink, KafkaSinkBuilder
    >>> words = KafkaRecordSerializationSchema.builder().set_topic("words")
    >>> builder: KafkaSinkBuilder = KafkaSink.builder().set_bootstrap_servers("localhost:9092")
    >>> builder = builder.set_record_serializer(words.set_value_serialization_schema(SimpleStringSchema()).build())
    >>> type(builder.set_delivery_guarantee(DeliveryGuarantee.AT_LEAST_ONCE).build()).__name__
    'KafkaSink'
    """

    def set_bootstrap_servers(self, bootstrap_servers: str) -> KafkaSinkBuilder:
        """Set the bootstrap servers."""
        return self._keep(bootstrap_servers=bootstrap_servers)

    def set_delivery_guarantee(self, delivery_guarantee: DeliveryGuarantee) -> KafkaSinkBuilder:
        """Set the delivery guarantee."""
        require_member(DeliveryGuarantee, delivery_guarantee, "set_delivery_guarantee()")
        return self._keep(delivery_guarantee=delivery_guarantee)

    def set_transactional_id_prefix(self, transactional_id_prefix: str) -> KafkaSinkBuilder:
        """Set the transactional id prefix."""
        return self._keep(transactional_id_prefix=transactional_id_prefix)

    def set_record_serializer(self, record_serializer: KafkaRecordSerializationSchema) -> KafkaSinkBuilder:
        """Set the record serializer."""
        return self._keep(record_serializer=record_serializer)

    def set_property(self, key: str, value: str) -> KafkaSinkBuilder:
        """Set the property."""
        return self._keep_property(key, value)

    def build(self) -> KafkaSink:
        """Return the sink."""
        settings = self.settings
        schema: KafkaRecordSerializationSchema | None = settings.get("record_serializer")
        properties = dict(self.properties)
        if "bootstrap_servers" in settings:
            properties["bootstrap.servers"] = settings["bootstrap_servers"]
        if not properties.get("bootstrap.servers"):
            raise ConfigurationError(at_user_line("bootstrapServers: call set_bootstrap_servers()"))
        if schema is None:
            raise ConfigurationError(at_user_line("recordSerializer: call set_record_serializer()"))
        guarantee = _GUARANTEES[settings.get("delivery_guarantee", DeliveryGuarantee.NONE)]
        prefix = settings.get("transactional_id_prefix")
        return KafkaSink(engine_sinks.KafkaSink(_producer_properties(properties), schema.records, guarantee, prefix))


_GUARANTEES: dict[DeliveryGuarantee, Guarantee] = {
    DeliveryGuarantee.NONE: "none",
    DeliveryGuarantee.AT_LEAST_ONCE: "at-least-once",
    DeliveryGuarantee.EXACTLY_ONCE: "exactly-once",
}
_SEMANTICS: dict[Semantic, Guarantee] = {
    Semantic.NONE: "none",
    Semantic.AT_LEAST_ONCE: "at-least-once",
    Semantic.EXACTLY_ONCE: "exactly-once",
}


class KafkaTopicSelector(ABC):
    """Chooses the topic of a record.

    >>> from funke.datastream.connectors.kafka import KafkaRecordSerializationSchema, KafkaTopicSelector
    >>> class ByCountry(KafkaTopicSelector):
    ...     def apply(self, data):
    ...         return f"orders-{data['country']}"
    >>> builder = KafkaRecordSerializationSchema.builder().set_topic_selector(ByCountry())  # a function does as well
    >>> ByCountry().apply({"country": "nl"})
    'orders-nl'
    """

    @abstractmethod
    def apply(self, data: Any) -> str:
        """Return the topic of a record."""


class _FunctionTopicSelector(KafkaTopicSelector):
    """Chooses the topic by a plain function."""

    def __init__(self, function: Callable[[Any], str]) -> None:
        self._function = function

    def apply(self, data: Any) -> str:
        """Call the function."""
        return self._function(data)


class KafkaRecordSerializationSchema(SerializationSchema):
    """Turns elements into Kafka records: topic, key and value.

    >>> from funke.common import SimpleStringSchema
    >>> from funke.datastream.connectors.kafka import KafkaRecordSerializationSchema
    >>> builder = KafkaRecordSerializationSchema.builder().set_topic("words")
    >>> schema = builder.set_value_serialization_schema(SimpleStringSchema()).build()
    >>> schema.topic, schema.serialize("tea")
    ('words', b'tea')
    """

    def __init__(
        self,
        topic_selector: KafkaTopicSelector | None = None,
        topic: str | None = None,
        key_serialization_schema: SerializationSchema | None = None,
        value_serialization_schema: SerializationSchema | None = None,
    ) -> None:
        self.topic_selector = topic_selector
        self.topic = topic
        self.key_serialization_schema = key_serialization_schema
        self.value_serialization_schema = value_serialization_schema

    def serialize(self, value: Any) -> bytes:
        """Return the value of the record of an element."""
        if self.value_serialization_schema is None:
            raise ConfigurationError("a Kafka record needs a schema of values; call set_value_serialization_schema()")
        return self.value_serialization_schema.serialize(value)

    @property
    def records(self) -> SchemaRecords:
        """What the engine writes records with."""
        if self.topic is None and self.topic_selector is None:
            raise ConfigurationError("a Kafka record needs a topic; call set_topic() or set_topic_selector()")
        if self.value_serialization_schema is None:
            raise ConfigurationError("a Kafka record needs a schema of values; call set_value_serialization_schema()")
        return SchemaRecords(
            self.value_serialization_schema.serialize,
            None if self.key_serialization_schema is None else self.key_serialization_schema.serialize,
            self.topic,
            None if self.topic_selector is None else self.topic_selector.apply,
        )

    @staticmethod
    def builder() -> KafkaRecordSerializationSchemaBuilder:
        """Start the settings of a schema."""
        return KafkaRecordSerializationSchemaBuilder()


class KafkaRecordSerializationSchemaBuilder:
    """Collects the settings of a record schema.

    >>> from funke.common import SimpleStringSchema
    >>> from funke.datastream.connectors.kafka import KafkaRecordSerializationSchemaBuilder
    >>> builder = KafkaRecordSerializationSchemaBuilder()  # or KafkaRecordSerializationSchema.builder()
    >>> builder = builder.set_topic_selector(lambda word: f"words-{word[0]}")
    >>> builder.set_value_serialization_schema(SimpleStringSchema()).build().topic_selector.apply("tea")
    'words-t'
    """

    def __init__(self) -> None:
        self._topic: str | None = None
        self._topic_selector: KafkaTopicSelector | None = None
        self._key_serialization_schema: SerializationSchema | None = None
        self._value_serialization_schema: SerializationSchema | None = None

    def set_topic(self, topic: str) -> KafkaRecordSerializationSchemaBuilder:
        """Write all records to one topic."""
        self._topic, self._topic_selector = topic, None
        return self

    def set_topic_selector(
        self, topic_selector: Callable[[Any], str] | KafkaTopicSelector
    ) -> KafkaRecordSerializationSchemaBuilder:
        """Choose the topic of each record by a selector or a plain function."""
        if isinstance(topic_selector, KafkaTopicSelector):
            self._topic_selector = topic_selector
        elif callable(topic_selector):
            self._topic_selector = _FunctionTopicSelector(topic_selector)
        else:
            raise TypeError(f"topic_selector must be a KafkaTopicSelector or a callable, got {topic_selector!r}")
        self._topic = None
        return self

    def set_key_serialization_schema(
        self, key_serialization_schema: SerializationSchema
    ) -> KafkaRecordSerializationSchemaBuilder:
        """Set the schema of keys."""
        self._key_serialization_schema = key_serialization_schema
        return self

    def set_value_serialization_schema(
        self, value_serialization_schema: SerializationSchema
    ) -> KafkaRecordSerializationSchemaBuilder:
        """Set the schema of values."""
        self._value_serialization_schema = value_serialization_schema
        return self

    def build(self) -> KafkaRecordSerializationSchema:
        """Return the schema."""
        return KafkaRecordSerializationSchema(
            self._topic_selector, self._topic, self._key_serialization_schema, self._value_serialization_schema
        )
