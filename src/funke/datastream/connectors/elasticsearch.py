"""Elasticsearch sinks: PyFlink's builders, kept for the connector to come."""

from __future__ import annotations

from abc import ABC
from enum import Enum

from funke.datastream.connectors.base import DeliveryGuarantee, Sink
from funke.datastream.connectors.kept_settings import Choice, KeptSettings
from funke.engine.errors import UnsupportedFeatureError, unsupported
from funke.engine.types.enum_members import require_member

__all__ = [
    "FlushBackoffType",
    "ElasticsearchEmitter",
    "Elasticsearch6SinkBuilder",
    "Elasticsearch7SinkBuilder",
    "ElasticsearchSink",
]


class FlushBackoffType(Enum):
    """How the pause grows when a flush is repeated."""

    CONSTANT = (0,)
    EXPONENTIAL = (1,)
    NONE = (2,)


class ElasticsearchEmitter(Choice):
    """Chooses the index of a document."""

    @staticmethod
    def static_index(index: str, key_field: str | None = None, doc_type: str | None = None) -> ElasticsearchEmitter:
        """Write all documents to one index."""
        return ElasticsearchEmitter("static_index", index=index, key_field=key_field, doc_type=doc_type)

    @staticmethod
    def dynamic_index(
        index_field: str, key_field: str | None = None, doc_type: str | None = None
    ) -> ElasticsearchEmitter:
        """Write each document to the index named by one of its fields."""
        return ElasticsearchEmitter("dynamic_index", index_field=index_field, key_field=key_field, doc_type=doc_type)


class ElasticsearchSink(Sink):
    """Writes documents."""


class ElasticsearchSinkBuilderBase(KeptSettings, ABC):
    """Collects the settings of a sink."""

    get_http_host_class = unsupported("get_http_host_class", "it returns a class of Flink's JVM")

    def set_emitter(self, emitter: ElasticsearchEmitter) -> ElasticsearchSinkBuilderBase:
        """Set the emitter."""
        return self._keep(emitter=emitter)

    def set_hosts(self, hosts: str | list[str]) -> ElasticsearchSinkBuilderBase:
        """Set the hosts."""
        return self._keep(hosts=hosts)

    def set_delivery_guarantee(self, delivery_guarantee: DeliveryGuarantee) -> ElasticsearchSinkBuilderBase:
        """Set the delivery guarantee."""
        require_member(DeliveryGuarantee, delivery_guarantee, "set_delivery_guarantee()")
        return self._keep(delivery_guarantee=delivery_guarantee)

    def set_bulk_flush_max_actions(self, num_max_actions: int) -> ElasticsearchSinkBuilderBase:
        """Set the bulk flush max actions."""
        return self._keep(bulk_flush_max_actions=num_max_actions)

    def set_bulk_flush_max_size_mb(self, max_size_mb: int) -> ElasticsearchSinkBuilderBase:
        """Set the bulk flush max size mb."""
        return self._keep(bulk_flush_max_size_mb=max_size_mb)

    def set_bulk_flush_interval(self, interval_millis: int) -> ElasticsearchSinkBuilderBase:
        """Set the bulk flush interval."""
        return self._keep(bulk_flush_interval=interval_millis)

    def set_bulk_flush_backoff_strategy(
        self, flush_backoff_type: FlushBackoffType, max_retries: int, delay_millis: int
    ) -> ElasticsearchSinkBuilderBase:
        """Set the bulk flush backoff strategy."""
        require_member(FlushBackoffType, flush_backoff_type, "set_bulk_flush_backoff_strategy()")
        return self._keep(flush_backoff_type=flush_backoff_type, max_retries=max_retries, delay_millis=delay_millis)

    def set_connection_username(self, username: str) -> ElasticsearchSinkBuilderBase:
        """Set the connection username."""
        return self._keep(connection_username=username)

    def set_connection_password(self, password: str) -> ElasticsearchSinkBuilderBase:
        """Set the connection password."""
        return self._keep(connection_password=password)

    def set_connection_path_prefix(self, prefix: str) -> ElasticsearchSinkBuilderBase:
        """Set the connection path prefix."""
        return self._keep(connection_path_prefix=prefix)

    def set_connection_request_timeout(self, timeout: int) -> ElasticsearchSinkBuilderBase:
        """Set the connection request timeout."""
        return self._keep(connection_request_timeout=timeout)

    def set_connection_timeout(self, timeout: int) -> ElasticsearchSinkBuilderBase:
        """Set the connection timeout."""
        return self._keep(connection_timeout=timeout)

    def set_socket_timeout(self, timeout: int) -> ElasticsearchSinkBuilderBase:
        """Set the socket timeout."""
        return self._keep(socket_timeout=timeout)

    def build(self) -> ElasticsearchSink:
        """Reject: the connector does not work yet."""
        raise UnsupportedFeatureError("Elasticsearch sink", "the Elasticsearch connector is not available yet")


class Elasticsearch6SinkBuilder(ElasticsearchSinkBuilderBase):
    """Collects the settings of a sink for Elasticsearch 6."""


class Elasticsearch7SinkBuilder(ElasticsearchSinkBuilderBase):
    """Collects the settings of a sink for Elasticsearch 7."""
