"""Cassandra sinks: PyFlink's builders, kept for the connector to come."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from funke.common.time import Duration
from funke.datastream.connectors.kept_settings import KeptSettings
from funke.engine.errors import UnsupportedFeatureError
from funke.engine.types.enum_members import require_member

if TYPE_CHECKING:
    from funke.datastream.data_stream import DataStream

__all__ = [
    "CassandraSink",
    "ConsistencyLevel",
    "MapperOptions",
    "ClusterBuilder",
    "CassandraCommitter",
    "CassandraFailureHandler",
]


class ConsistencyLevel(Enum):
    """How many replicas have to agree."""

    ANY = 0
    ONE = 1
    TWO = 2
    THREE = 3
    QUORUM = 4
    ALL = 5
    LOCAL_QUORUM = 6
    EACH_QUORUM = 7
    SERIAL = 8
    LOCAL_SERIAL = 9
    LOCAL_ONE = 10


class MapperOptions(KeptSettings):
    """How rows are written."""

    def ttl(self, ttl: int) -> MapperOptions:
        """Set the time to live of rows."""
        return self._keep(ttl=ttl)

    def timestamp(self, timestamp: int) -> MapperOptions:
        """Set the timestamp of writes."""
        return self._keep(timestamp=timestamp)

    def consistency_level(self, cl: ConsistencyLevel) -> MapperOptions:
        """Set the consistency level of writes."""
        return self._keep(consistency_level=require_member(ConsistencyLevel, cl, "consistency_level()"))

    def tracing(self, enabled: bool) -> MapperOptions:
        """Turn tracing of writes on or off."""
        return self._keep(tracing=enabled)

    def save_null_fields(self, enabled: bool) -> MapperOptions:
        """Choose whether null fields are written."""
        return self._keep(save_null_fields=enabled)

    def if_not_exists(self, enabled: bool) -> MapperOptions:
        """Choose whether existing rows stay."""
        return self._keep(if_not_exists=enabled)


class ClusterBuilder(KeptSettings):
    """Tells how to reach a cluster."""


class CassandraCommitter:
    """Keeps track of committed checkpoints in a table."""

    def __init__(self, builder: ClusterBuilder, key_space: str | None = None) -> None:
        self.builder = builder
        self.key_space = key_space

    @staticmethod
    def default_checkpoint_committer(builder: ClusterBuilder, key_space: str | None = None) -> CassandraCommitter:
        """Return a committer that keeps its table in `key_space`."""
        return CassandraCommitter(builder, key_space)


class CassandraFailureHandler:
    """Decides what happens when a write fails."""

    @staticmethod
    def no_op() -> CassandraFailureHandler:
        """Return a handler that fails the job."""
        return CassandraFailureHandler()


class CassandraSink(KeptSettings):
    """Writes rows into a table."""

    def name(self, name: str) -> CassandraSink:
        """Set the name of the sink."""
        return self._keep(name=name)

    def uid(self, uid: str) -> CassandraSink:
        """Set the uid of the sink."""
        return self._keep(uid=uid)

    def set_uid_hash(self, uid_hash: str) -> CassandraSink:
        """Set the uid hash."""
        return self._keep(uid_hash=uid_hash)

    def set_parallelism(self, parallelism: int) -> CassandraSink:
        """Set the parallelism."""
        return self._keep(parallelism=parallelism)

    def disable_chaining(self) -> CassandraSink:
        """Keep the sink out of chains."""
        return self._keep(disable_chaining=True)

    def slot_sharing_group(self, slot_sharing_group: str) -> CassandraSink:
        """Set the slot-sharing group of the sink."""
        return self._keep(slot_sharing_group=slot_sharing_group)

    @staticmethod
    def add_sink(input: DataStream) -> CassandraSink.CassandraSinkBuilder:
        """Start the settings of a sink of a stream."""
        return CassandraSink.CassandraSinkBuilder(input)

    class CassandraSinkBuilder(KeptSettings):
        """Collects the settings of a sink."""

        def __init__(self, input: DataStream) -> None:
            super().__init__()
            self.input = input

        def set_query(self, query: str) -> CassandraSink.CassandraSinkBuilder:
            """Set the query."""
            return self._keep(query=query)

        def set_host(self, host: str, port: int = 9042) -> CassandraSink.CassandraSinkBuilder:
            """Set the host."""
            return self._keep(host=host, port=port)

        def set_cluster_builder(self, builder: ClusterBuilder) -> CassandraSink.CassandraSinkBuilder:
            """Set the cluster builder."""
            return self._keep(cluster_builder=builder)

        def enable_write_ahead_log(
            self, committer: CassandraCommitter | None = None
        ) -> CassandraSink.CassandraSinkBuilder:
            """Turn write ahead log on."""
            return self._keep(enable_write_ahead_log=committer)

        def set_mapper_options(self, options: MapperOptions) -> CassandraSink.CassandraSinkBuilder:
            """Set the mapper options."""
            return self._keep(mapper_options=options)

        def set_failure_handler(self, failure_handler: CassandraFailureHandler) -> CassandraSink.CassandraSinkBuilder:
            """Set the failure handler."""
            return self._keep(failure_handler=failure_handler)

        def set_max_concurrent_requests(
            self, max_concurrent_requests: int, duration: Duration | None = None
        ) -> CassandraSink.CassandraSinkBuilder:
            """Set the max concurrent requests."""
            return self._keep(max_concurrent_requests=max_concurrent_requests, duration=duration)

        def enable_ignore_null_fields(self) -> CassandraSink.CassandraSinkBuilder:
            """Turn ignore null fields on."""
            return self._keep(enable_ignore_null_fields=True)

        def build(self) -> CassandraSink:
            """Reject: the connector does not work yet."""
            raise UnsupportedFeatureError("Cassandra sink", "the Cassandra connector is not available yet")
