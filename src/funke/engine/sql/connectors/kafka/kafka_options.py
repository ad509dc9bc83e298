"""The common options of tables in Kafka, and their values: topics, offsets, properties, formats."""

from __future__ import annotations

import logging
import re
from typing import Any

from funke.engine.connectors.kafka.client_properties import ClientProperties
from funke.engine.connectors.kafka.offsets import Offsets, Partition
from funke.engine.connectors.kafka.subscription import Subscription
from funke.engine.flink_exceptions import ValidationException
from funke.engine.sql.connectors.formats.file_formats import find_file_format
from funke.engine.sql.connectors.table_option import OptionValues, TableOption

_LOG = logging.getLogger(__name__)
PREFIX = "properties."

SERVERS = TableOption("properties.bootstrap.servers", description="Where Kafka is: host:port, several with commas.")
TOPIC = TableOption(
    "topic",
    "List<String>",
    None,
    "The topic, or topics with semicolons between them; which of several a row is written to, the METADATA column "
    "`topic` says.",
)
PATTERN = TableOption(
    "topic-pattern",
    description="Topics whose whole names match the pattern; which one a row is written to, the METADATA column "
    "`topic` says.",
)
GROUP = TableOption("properties.group.id", description="The group of the readers, for offsets that are committed.")
FORMAT = TableOption("format", description="The format of values; its options follow as 'json.…' and so on.")
VALUE_FORMAT = TableOption(
    "value.format", description="The format of values, if 'key.format' is set; its options follow as 'value.json.…'."
)
KEY_FORMAT = TableOption("key.format", description="The format of keys; its options follow as 'key.json.…'.")
KEY_FIELDS = TableOption("key.fields", "List<String>", "", "The columns that are in the key, with semicolons.")
KEY_PREFIX = TableOption(
    "key.fields-prefix",
    default="",
    description="The prefix of these columns' names in the table, which the key does not have.",
)
INCLUDE = TableOption(
    "value.fields-include",
    "Enum",
    "ALL",
    "Whether the columns of the key are in the value as well.",
    ("ALL", "EXCEPT_KEY"),
)
START = TableOption(
    "scan.startup.mode",
    "Enum",
    "group-offsets",
    "Where reading begins: where the group is, at either end, at a time, or at given offsets.",
    ("earliest-offset", "latest-offset", "group-offsets", "timestamp", "specific-offsets"),
)
START_OFFSETS = TableOption(
    "scan.startup.specific-offsets", description="'partition:0,offset:42;partition:1,offset:300'."
)
START_TIME = TableOption("scan.startup.timestamp-millis", "Long", None, "The time for 'timestamp', in milliseconds.")
STOP = TableOption(
    "scan.bounded.mode",
    "Enum",
    "unbounded",
    "Where reading ends, in the same words; by default it does not.",
    ("unbounded", "latest-offset", "group-offsets", "timestamp", "specific-offsets"),
)
STOP_OFFSETS = TableOption("scan.bounded.specific-offsets", description="As for the start.")
STOP_TIME = TableOption("scan.bounded.timestamp-millis", "Long", None, "As for the start.")
DISCOVERY = TableOption(
    "scan.topic-partition-discovery.interval", "Duration", "5 min", "How often to look for new partitions; 0 for never."
)
SCAN_PARALLELISM = TableOption(
    "scan.parallelism", "Integer", None, "The number of reading subtasks; by default that of the job."
)
GUARANTEE = TableOption(
    "sink.delivery-guarantee",
    "Enum",
    "at-least-once",
    "How sure writing is; 'exactly-once' needs checkpoints and 'sink.transactional-id-prefix'.",
    ("none", "at-least-once", "exactly-once"),
    older_keys=("sink.semantic",),
)
TRANSACTIONS = TableOption(
    "sink.transactional-id-prefix", description="What the names of transactions begin with; no other sink may have it."
)
NAMING = TableOption(
    "sink.transaction-naming-strategy",
    "Enum",
    "default",
    "How Flink names transactions; has no effect: writers use the same few names again and again.",
    ("default", "incrementing", "pooling"),
)
PARTITIONER = TableOption(
    "sink.partitioner",
    default="default",
    description="'default' goes by the key, or spreads; 'fixed': a partition for each subtask; 'round-robin' spreads; "
    "else a Python class, as 'module.Class', with the methods open(parallel_instance_id, parallel_instances) and "
    "partition(record, key, value, target_topic, partitions).",
)
BUFFER_ROWS = TableOption(
    "sink.buffer-flush.max-rows",
    "Integer",
    "0",
    "The largest number of rows that are held back; only the last one of each key is written. Needs the interval, too.",
)
BUFFER_TIME = TableOption(
    "sink.buffer-flush.interval", "Duration", "0 s", "So long rows are held back; 0 of either for not at all."
)


def subscription(values: OptionValues) -> Subscription:
    """The topics that are read."""
    topics, pattern = values[TOPIC], values[PATTERN]
    if topics and pattern:
        raise ValidationException("Option 'topic' and 'topic-pattern' shouldn't be set together.")
    if not topics and not pattern:
        raise ValidationException("Either 'topic' or 'topic-pattern' must be set.")
    return Subscription(pattern=pattern) if pattern else Subscription(topics=tuple(topics))


def properties(values: OptionValues, has_discovery: bool = True) -> ClientProperties:
    """The properties of the client: the options that begin with `properties.`."""
    client_properties = {key[len(PREFIX) :]: text for key, text in values.strings.items() if key.startswith(PREFIX)}
    if has_discovery:
        # Flink's tables switch discovery off with 0, its clients with a negative interval.
        client_properties["partition.discovery.interval.ms"] = str(values[DISCOVERY].to_millis() or -1)
    return ClientProperties.of(client_properties)


def starting(values: OptionValues, topics: tuple[str, ...]) -> Offsets:
    """The offsets at which reading begins."""
    # As in Flink a group without offsets fails the job unless `properties.auto.offset.reset` says where to begin.
    mode, reset = values[START], values.strings.get("properties.auto.offset.reset", "none").lower()
    if mode == "group-offsets" and GROUP not in values:
        raise ValidationException("'properties.group.id' is required with 'scan.startup.mode' = 'group-offsets'.")
    return _offsets(mode, values, START_OFFSETS, START_TIME, topics, reset)


def stopping(values: OptionValues, topics: tuple[str, ...]) -> Offsets | None:
    """The offsets at which reading ends; None for an unbounded table."""
    mode = values[STOP]
    return None if mode == "unbounded" else _offsets(mode, values, STOP_OFFSETS, STOP_TIME, topics, "none")


def _offsets(
    mode: str, values: OptionValues, offsets_option: TableOption, time: TableOption, topics: tuple[str, ...], reset: Any
) -> Offsets:
    if mode == "group-offsets":
        return Offsets("committed", reset)
    if mode == "timestamp":
        if values[time] is None:
            raise ValidationException(f"'{time.key}' is required in 'timestamp' mode but missing.")
        # A partition whose records are all older has no offset for the time: it is read from its end.
        return Offsets("timestamp", "latest", values[time])
    if mode == "specific-offsets":
        if len(topics) != 1:
            raise ValidationException("Currently Kafka source only supports specific offset for single topic.")
        # Partitions that the option leaves out are read from their beginning.
        return Offsets("offsets", "earliest", numbers=_specific(values, offsets_option, topics[0]))
    return Offsets("earliest", "earliest") if mode == "earliest-offset" else Offsets("latest", "latest")


def _specific(values: OptionValues, option: TableOption, topic: str) -> dict[Partition, int]:
    text = values[option]
    if not text:
        raise ValidationException(f"'{option.key}' is required in 'specific-offsets' mode but missing.")
    offsets = {}
    for part in text.rstrip(";").split(";"):
        numbers = re.fullmatch(r"\s*partition:(\d+),\s*offset:(\d+)\s*", part)
        if numbers is None:
            raise ValidationException(
                f"Invalid properties '{option.key}' should follow the format "
                f"'partition:0,offset:42;partition:1,offset:300', but is '{text}'."
            )
        offsets[Partition(topic, int(numbers[1]))] = int(numbers[2])
    return offsets


def format_options(values: OptionValues, option: TableOption, prefix: str) -> tuple[TableOption, ...]:
    """The options of a format that a table names; unknown ones give a warning."""
    if option not in values:
        return ()
    factory = find_file_format(values[option])
    start = f"{prefix}{factory.identifier}"
    options = tuple(each.with_prefix(start) for each in factory.options)
    keys = {key for each in options for key in each.keys}
    unknown = [key for key in values.strings if key.startswith(f"{start}.") and key not in keys]
    for key in unknown:
        _LOG.warning("the format '%s' has no option '%s': it has no effect", factory.identifier, key)
    return (*options, *map(TableOption, unknown))
