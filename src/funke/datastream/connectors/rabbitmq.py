"""RabbitMQ sources and sinks: PyFlink's builders, kept for the connector to come."""

from __future__ import annotations

from typing import Any

from funke.common.serialization import DeserializationSchema, SerializationSchema
from funke.datastream.connectors.kept_settings import KeptSettings
from funke.datastream.functions import SinkFunction, SourceFunction
from funke.engine.errors import ConfigurationError, UnsupportedFeatureError

__all__ = ["RMQConnectionConfig", "RMQSource", "RMQSink"]

_REASON = "the RabbitMQ connector is not available yet"


class RMQConnectionConfig:
    """How to reach a broker; what was not set is None.

    >>> from funke.datastream.connectors.rabbitmq import RMQConnectionConfig
    >>> config = RMQConnectionConfig.Builder().set_host("localhost").set_port(5672).build()
    >>> config.get_host(), config.get_port()
    ('localhost', 5672)
    """

    def __init__(self, settings: dict[str, Any]) -> None:
        self._settings = settings

    def get_host(self) -> str | None:
        """Return the host."""
        return self._settings.get("host")

    def get_port(self) -> int | None:
        """Return the port."""
        return self._settings.get("port")

    def get_virtual_host(self) -> str | None:
        """Return the virtual host."""
        return self._settings.get("virtual_host")

    def get_user_name(self) -> str | None:
        """Return the name of the user."""
        return self._settings.get("user_name")

    def get_password(self) -> str | None:
        """Return the password."""
        return self._settings.get("password")

    def get_uri(self) -> str | None:
        """Return the URI."""
        return self._settings.get("uri")

    def get_network_recovery_interval(self) -> int | None:
        """Return the pause before a new connection in milliseconds."""
        return self._settings.get("network_recovery_interval")

    def is_automatic_recovery(self) -> bool | None:
        """Tell whether a lost connection is made anew."""
        return self._settings.get("automatic_recovery")

    def is_topology_recovery(self) -> bool | None:
        """Tell whether queues and bindings are declared anew with a lost connection."""
        return self._settings.get("topology_recovery_enabled")

    def get_connection_timeout(self) -> int | None:
        """Return the connection timeout in milliseconds."""
        return self._settings.get("connection_timeout")

    def get_requested_channel_max(self) -> int | None:
        """Return the number of channels that is asked for."""
        return self._settings.get("requested_channel_max")

    def get_requested_frame_max(self) -> int | None:
        """Return the frame size that is asked for."""
        return self._settings.get("requested_frame_max")

    def get_requested_heartbeat(self) -> int | None:
        """Return the heartbeat timeout in seconds."""
        return self._settings.get("requested_heartbeat")

    class Builder(KeptSettings):
        """Collects how to reach a broker."""

        def set_port(self, port: int) -> RMQConnectionConfig.Builder:
            """Set the port."""
            return self._keep(port=port)

        def set_host(self, host: str) -> RMQConnectionConfig.Builder:
            """Set the host."""
            return self._keep(host=host)

        def set_virtual_host(self, vhost: str) -> RMQConnectionConfig.Builder:
            """Set the virtual host."""
            return self._keep(virtual_host=vhost)

        def set_user_name(self, user_name: str) -> RMQConnectionConfig.Builder:
            """Set the user name."""
            return self._keep(user_name=user_name)

        def set_password(self, password: str) -> RMQConnectionConfig.Builder:
            """Set the password."""
            return self._keep(password=password)

        def set_uri(self, uri: str) -> RMQConnectionConfig.Builder:
            """Set the uri."""
            return self._keep(uri=uri)

        def set_topology_recovery_enabled(self, topology_recovery_enabled: bool) -> RMQConnectionConfig.Builder:
            """Set the topology recovery enabled."""
            return self._keep(topology_recovery_enabled=topology_recovery_enabled)

        def set_requested_heartbeat(self, requested_heartbeat: int) -> RMQConnectionConfig.Builder:
            """Set the requested heartbeat."""
            return self._keep(requested_heartbeat=requested_heartbeat)

        def set_requested_frame_max(self, requested_frame_max: int) -> RMQConnectionConfig.Builder:
            """Set the requested frame max."""
            return self._keep(requested_frame_max=requested_frame_max)

        def set_requested_channel_max(self, requested_channel_max: int) -> RMQConnectionConfig.Builder:
            """Set the requested channel max."""
            return self._keep(requested_channel_max=requested_channel_max)

        def set_network_recovery_interval(self, network_recovery_interval: int) -> RMQConnectionConfig.Builder:
            """Set the network recovery interval."""
            return self._keep(network_recovery_interval=network_recovery_interval)

        def set_connection_timeout(self, connection_timeout: int) -> RMQConnectionConfig.Builder:
            """Set the connection timeout."""
            return self._keep(connection_timeout=connection_timeout)

        def set_automatic_recovery(self, automatic_recovery: bool) -> RMQConnectionConfig.Builder:
            """Set the automatic recovery."""
            return self._keep(automatic_recovery=automatic_recovery)

        def set_prefetch_count(self, prefetch_count: int) -> RMQConnectionConfig.Builder:
            """Set the prefetch count."""
            return self._keep(prefetch_count=prefetch_count)

        def build(self) -> RMQConnectionConfig:
            """Return the configuration."""
            if "uri" not in self.settings and "host" not in self.settings:
                raise ConfigurationError("RMQConnectionConfig needs a host or a URI; call set_host() or set_uri()")
            return RMQConnectionConfig(dict(self.settings))


class RMQSource(SourceFunction):
    """Reads a queue.

    >>> from funke.common import SimpleStringSchema
    >>> from funke.datastream.connectors.rabbitmq import RMQConnectionConfig, RMQSource
    >>> config = RMQConnectionConfig.Builder().set_host("localhost").build()
    >>> RMQSource(config, "orders", False, SimpleStringSchema())
    Traceback (most recent call last):
        ...
    funke.engine.errors.UnsupportedFeatureError: RabbitMQ source is not supported: the RabbitMQ connector...
    """

    def __init__(
        self,
        connection_config: RMQConnectionConfig,
        queue_name: str,
        use_correlation_id: bool,
        deserialization_schema: DeserializationSchema,
    ) -> None:
        raise UnsupportedFeatureError("RabbitMQ source", _REASON)


class RMQSink(SinkFunction):
    """Writes a queue.

    >>> from funke.common import SimpleStringSchema
    >>> from funke.datastream.connectors.rabbitmq import RMQConnectionConfig, RMQSink
    >>> config = RMQConnectionConfig.Builder().set_host("localhost").build()
    >>> RMQSink(config, "orders", SimpleStringSchema())
    Traceback (most recent call last):
        ...
    funke.engine.errors.UnsupportedFeatureError: RabbitMQ sink is not supported: the RabbitMQ connector...
    """

    def __init__(
        self, connection_config: RMQConnectionConfig, queue_name: str, serialization_schema: SerializationSchema
    ) -> None:
        raise UnsupportedFeatureError("RabbitMQ sink", _REASON)
