"""Pulsar sources and sinks: PyFlink's builders, kept for the connector to come."""

from __future__ import annotations

from enum import Enum
from typing import Any

from funke.common.config_options import ConfigOption
from funke.common.serialization import DeserializationSchema, SerializationSchema
from funke.common.time import Duration
from funke.datastream.connectors.base import DeliveryGuarantee, Sink, Source
from funke.datastream.connectors.kept_settings import Choice, KeptSettings
from funke.engine.errors import UnsupportedFeatureError
from funke.engine.types.enum_members import require_member
from funke.passed_on_names import pass_on_names

__all__ = [
    "PulsarSource",
    "PulsarSourceBuilder",
    "StartCursor",
    "StopCursor",
    "RangeGenerator",
    "PulsarSink",
    "PulsarSinkBuilder",
    "MessageDelayer",
    "TopicRoutingMode",
]

pass_on_names(__name__)

_REASON = "the Pulsar connector is not available yet"


class StartCursor(Choice):
    """Where reading starts.

    >>> from funke.datastream.connectors.pulsar import StartCursor
    >>> StartCursor.from_publish_time(0) == StartCursor.earliest()
    False
    """

    @staticmethod
    def default_start_cursor() -> StartCursor:
        """Start at the first message."""
        return StartCursor("default_start_cursor")

    @staticmethod
    def earliest() -> StartCursor:
        """Start at the first message."""
        return StartCursor("earliest")

    @staticmethod
    def latest() -> StartCursor:
        """Start with the messages to come."""
        return StartCursor("latest")

    @staticmethod
    def from_message_id(message_id: bytes, inclusive: bool = True) -> StartCursor:
        """Start at or after a message."""
        return StartCursor("from_message_id", message_id=message_id, inclusive=inclusive)

    @staticmethod
    def from_publish_time(timestamp: int) -> StartCursor:
        """Start at the first message that was published at `timestamp` or later."""
        return StartCursor("from_publish_time", timestamp=timestamp)


class StopCursor(Choice):
    """Where reading stops.

    >>> from funke.datastream.connectors.pulsar import StopCursor
    >>> StopCursor.at_event_time(1000)
    StopCursor.at_event_time(timestamp=1000)
    """

    @staticmethod
    def default_stop_cursor() -> StopCursor:
        """Do not stop."""
        return StopCursor("default_stop_cursor")

    @staticmethod
    def never() -> StopCursor:
        """Do not stop."""
        return StopCursor("never")

    @staticmethod
    def latest() -> StopCursor:
        """Stop at the last message there is when the job starts."""
        return StopCursor("latest")

    @staticmethod
    def at_event_time(timestamp: int) -> StopCursor:
        """Stop before the first message with that event time."""
        return StopCursor("at_event_time", timestamp=timestamp)

    @staticmethod
    def after_event_time(timestamp: int) -> StopCursor:
        """Stop after the last message with that event time."""
        return StopCursor("after_event_time", timestamp=timestamp)

    @staticmethod
    def at_publish_time(timestamp: int) -> StopCursor:
        """Stop before the first message published then."""
        return StopCursor("at_publish_time", timestamp=timestamp)

    @staticmethod
    def after_publish_time(timestamp: int) -> StopCursor:
        """Stop after the last message published then."""
        return StopCursor("after_publish_time", timestamp=timestamp)

    @staticmethod
    def at_message_id(message_id: bytes) -> StopCursor:
        """Stop before a message."""
        return StopCursor("at_message_id", message_id=message_id)

    @staticmethod
    def after_message_id(message_id: bytes) -> StopCursor:
        """Stop after a message."""
        return StopCursor("after_message_id", message_id=message_id)


class RangeGenerator(Choice):
    """Which keys a reader gets."""

    @staticmethod
    def full() -> RangeGenerator:
        """Read all keys."""
        return RangeGenerator("full")

    @staticmethod
    def fixed_key(
        support_null_key: bool = False,
        keys: str | list[str] | None = None,
        key_bytes: bytes | None = None,
        ordering_key_bytes: bytes | None = None,
    ) -> RangeGenerator:
        """Read the given keys only."""
        return RangeGenerator(
            "fixed_key",
            support_null_key=support_null_key,
            keys=keys,
            key_bytes=key_bytes,
            ordering_key_bytes=ordering_key_bytes,
        )


class PulsarSource(Source):
    """Reads topics.

    >>> from funke.datastream.connectors.pulsar import PulsarSource
    >>> PulsarSource.builder().set_topics("orders").build()
    Traceback (most recent call last):
        ...
    funke.engine.errors.UnsupportedFeatureError: Pulsar source is not supported: the Pulsar connector...
    """

    @staticmethod
    def builder() -> PulsarSourceBuilder:
        """Start the settings of a source."""
        return PulsarSourceBuilder()


class PulsarSourceBuilder(KeptSettings):
    """Collects the settings of a source.

    >>> from funke.datastream.connectors.pulsar import PulsarSource, PulsarSourceBuilder, StartCursor
    >>> builder = PulsarSource.builder().set_topics("orders").set_start_cursor(StartCursor.latest())
    >>> isinstance(builder, PulsarSourceBuilder), builder.settings["topics"]  # build() is not supported yet
    (True, 'orders')
    """

    def set_admin_url(self, admin_url: str) -> PulsarSourceBuilder:
        """Set the admin url."""
        return self._keep(admin_url=admin_url)

    def set_service_url(self, service_url: str) -> PulsarSourceBuilder:
        """Set the service url."""
        return self._keep(service_url=service_url)

    def set_subscription_name(self, subscription_name: str) -> PulsarSourceBuilder:
        """Set the subscription name."""
        return self._keep(subscription_name=subscription_name)

    def set_topics(self, topics: str | list[str]) -> PulsarSourceBuilder:
        """Set the topics."""
        return self._keep(topics=topics)

    def set_topic_pattern(self, topic_pattern: str) -> PulsarSourceBuilder:
        """Set the topic pattern."""
        return self._keep(topic_pattern=topic_pattern)

    def set_consumer_name(self, consumer_name: str) -> PulsarSourceBuilder:
        """Set the consumer name."""
        return self._keep(consumer_name=consumer_name)

    def set_range_generator(self, range_generator: RangeGenerator) -> PulsarSourceBuilder:
        """Set the range generator."""
        return self._keep(range_generator=range_generator)

    def set_start_cursor(self, start_cursor: StartCursor) -> PulsarSourceBuilder:
        """Set the start cursor."""
        return self._keep(start_cursor=start_cursor)

    def set_unbounded_stop_cursor(self, stop_cursor: StopCursor) -> PulsarSourceBuilder:
        """Set the unbounded stop cursor."""
        return self._keep(unbounded_stop_cursor=stop_cursor)

    def set_bounded_stop_cursor(self, stop_cursor: StopCursor) -> PulsarSourceBuilder:
        """Set the bounded stop cursor."""
        return self._keep(bounded_stop_cursor=stop_cursor)

    def set_deserialization_schema(self, deserialization_schema: DeserializationSchema) -> PulsarSourceBuilder:
        """Set the deserialization schema."""
        return self._keep(deserialization_schema=deserialization_schema)

    def set_authentication(
        self, auth_plugin_class_name: str, auth_params_string: str | dict[str, str]
    ) -> PulsarSourceBuilder:
        """Set the authentication."""
        return self._keep(auth_plugin_class_name=auth_plugin_class_name, auth_params_string=auth_params_string)

    def set_config(self, key: str | ConfigOption[Any], value: Any) -> PulsarSourceBuilder:
        """Set the config."""
        return self._keep_property(key, value)

    def set_config_with_dict(self, config: dict[str, str]) -> PulsarSourceBuilder:
        """Set the config with dict."""
        return self._keep_properties(config)

    def set_properties(self, config: dict[str, str]) -> PulsarSourceBuilder:
        """Set the properties."""
        return self._keep_properties(config)

    def build(self) -> PulsarSource:
        """Reject: the connector does not work yet."""
        raise UnsupportedFeatureError("Pulsar source", _REASON)


class TopicRoutingMode(Enum):
    """How the partition of a message is chosen."""

    ROUND_ROBIN = 0
    MESSAGE_KEY_HASH = 1
    CUSTOM = 2


class MessageDelayer(Choice):
    """When a message may be delivered."""

    @staticmethod
    def never() -> MessageDelayer:
        """Deliver at once."""
        return MessageDelayer("never")

    @staticmethod
    def fixed(duration: Duration) -> MessageDelayer:
        """Deliver after `duration`."""
        return MessageDelayer("fixed", duration=duration)


class PulsarSink(Sink):
    """Writes topics."""

    @staticmethod
    def builder() -> PulsarSinkBuilder:
        """Start the settings of a sink."""
        return PulsarSinkBuilder()


class PulsarSinkBuilder(KeptSettings):
    """Collects the settings of a sink."""

    def set_admin_url(self, admin_url: str) -> PulsarSinkBuilder:
        """Set the admin url."""
        return self._keep(admin_url=admin_url)

    def set_service_url(self, service_url: str) -> PulsarSinkBuilder:
        """Set the service url."""
        return self._keep(service_url=service_url)

    def set_producer_name(self, producer_name: str) -> PulsarSinkBuilder:
        """Set the producer name."""
        return self._keep(producer_name=producer_name)

    def set_topics(self, topics: str | list[str]) -> PulsarSinkBuilder:
        """Set the topics."""
        return self._keep(topics=topics)

    def set_delivery_guarantee(self, delivery_guarantee: DeliveryGuarantee) -> PulsarSinkBuilder:
        """Set the delivery guarantee."""
        require_member(DeliveryGuarantee, delivery_guarantee, "set_delivery_guarantee()")
        return self._keep(delivery_guarantee=delivery_guarantee)

    def set_topic_routing_mode(self, topic_routing_mode: TopicRoutingMode) -> PulsarSinkBuilder:
        """Set the topic routing mode."""
        require_member(TopicRoutingMode, topic_routing_mode, "set_topic_routing_mode()")
        return self._keep(topic_routing_mode=topic_routing_mode)

    def set_topic_router(self, topic_router_class_name: str) -> PulsarSinkBuilder:
        """Set the topic router."""
        return self._keep(topic_router=topic_router_class_name)

    def set_serialization_schema(self, serialization_schema: SerializationSchema) -> PulsarSinkBuilder:
        """Set the serialization schema."""
        return self._keep(serialization_schema=serialization_schema)

    def set_authentication(
        self, auth_plugin_class_name: str, auth_params_string: str | dict[str, str]
    ) -> PulsarSinkBuilder:
        """Set the authentication."""
        return self._keep(auth_plugin_class_name=auth_plugin_class_name, auth_params_string=auth_params_string)

    def delay_sending_message(self, message_delayer: MessageDelayer) -> PulsarSinkBuilder:
        """Set when messages may be delivered."""
        return self._keep(delay_sending_message=message_delayer)

    def set_config(self, key: str, value: Any) -> PulsarSinkBuilder:
        """Set the config."""
        return self._keep_property(key, value)

    def set_properties(self, config: dict[str, str]) -> PulsarSinkBuilder:
        """Set the properties."""
        return self._keep_properties(config)

    def build(self) -> PulsarSink:
        """Reject: the connector does not work yet."""
        raise UnsupportedFeatureError("Pulsar sink", _REASON)
