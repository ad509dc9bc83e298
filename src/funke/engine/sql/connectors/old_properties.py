"""Table options of Flink 1.x (`'connector.type' = …`, `'format.type' = …`) as the options of today."""

from __future__ import annotations

import re
from collections.abc import Mapping

from funke.engine.flink_exceptions import ValidationException

__all__ = ["has_old_properties", "modern_options"]

_TYPE = "connector.type"
# They have no effect here: versions, and schemas, which are derived from the columns of the table.
_WITHOUT_EFFECT = re.compile(
    r"connector\.(version|property-version|sink-partitioner-class|write-mode|num-files)"
    r"|format\.(property-version|derive-schema|schema|json-schema|avro-schema|record-class|fields\..*)"
    r"|connector\.properties\.zookeeper\.connect|update-mode|schema\..*"
)
_CONNECTOR_KEYS: Mapping[str, Mapping[str, str]] = {
    "filesystem": {"connector.path": "path"},
    "kafka": {
        "connector.topic": "topic",
        "connector.startup-mode": "scan.startup.mode",
        "connector.specific-offsets": "scan.startup.specific-offsets",
        "connector.startup-timestamp-millis": "scan.startup.timestamp-millis",
        "connector.sink-partitioner": "sink.partitioner",
    },
    "jdbc": {
        "connector.url": "url",
        "connector.table": "table-name",
        "connector.driver": "driver",
        "connector.username": "username",
        "connector.password": "password",
        "connector.read.partition.column": "scan.partition.column",
        "connector.read.partition.num": "scan.partition.num",
        "connector.read.partition.lower-bound": "scan.partition.lower-bound",
        "connector.read.partition.upper-bound": "scan.partition.upper-bound",
        "connector.read.fetch-size": "scan.fetch-size",
        "connector.lookup.cache.max-rows": "lookup.cache.max-rows",
        "connector.lookup.cache.ttl": "lookup.cache.ttl",
        "connector.lookup.max-retries": "lookup.max-retries",
        "connector.write.flush.max-rows": "sink.buffer-flush.max-rows",
        "connector.write.flush.interval": "sink.buffer-flush.interval",
        "connector.write.max-retries": "sink.max-retries",
    },
}
_FORMAT_KEYS: Mapping[str, tuple[str, ...]] = {
    "csv": (
        "field-delimiter",
        "quote-character",
        "disable-quote-character",
        "allow-comments",
        "ignore-parse-errors",
        "ignore-first-line",
        "line-delimiter",
        "array-element-delimiter",
        "escape-character",
        "null-literal",
    ),
    "json": ("fail-on-missing-field", "ignore-parse-errors"),
    "avro": (),
}
_NUMBERED_PROPERTY = re.compile(r"connector\.properties\.(\d+)\.(key|value)")
_NUMBERED_OFFSET = re.compile(r"connector\.specific-offsets\.(\d+)\.(partition|offset)")


def has_old_properties(options: Mapping[str, str]) -> bool:
    """Tell whether a table was declared as in Flink 1.x."""
    return _TYPE in options


def modern_options(options: Mapping[str, str]) -> dict[str, str]:
    """Return the options of today that mean the same; options of today stay as they are."""
    if not has_old_properties(options):
        return dict(options)
    connector = options[_TYPE]
    result = {"connector": connector}
    if "format.type" in options:
        result["format"] = options["format.type"]
    result |= _numbered(options)
    for key, value in options.items():
        modern = _modern_key(connector, options.get("format.type", ""), key)
        if modern is not None:
            result[modern] = value
    if options.get("format.comment-prefix"):
        result["csv.allow-comments"] = "true"
    return result


def _modern_key(connector: str, file_format: str, key: str) -> str | None:
    """The option of today; None if it has no effect, or is handled elsewhere."""
    if key in (_TYPE, "format.type", "format.comment-prefix") or _WITHOUT_EFFECT.fullmatch(key):
        return None
    if _NUMBERED_PROPERTY.fullmatch(key) or _NUMBERED_OFFSET.fullmatch(key):
        return None
    if not key.startswith(("connector.", "format.")):
        return key
    if key.startswith("connector.properties."):
        return key.removeprefix("connector.")
    modern_keys = _CONNECTOR_KEYS.get(connector, {})
    if key in modern_keys:
        return modern_keys[key]
    name = key.removeprefix("format.")
    if key.startswith("format.") and name in _FORMAT_KEYS.get(file_format, ()):
        return f"{file_format}.{name}"
    supported = "\n".join(sorted([*modern_keys, *(f"format.{each}" for each in _FORMAT_KEYS.get(file_format, ()))]))
    raise ValidationException(f"Unsupported property of Flink 1.x: '{key}'.\n\nSupported properties:\n\n{supported}")


def _numbered(options: Mapping[str, str]) -> dict[str, str]:
    """The lists of Flink 1.9: `connector.properties.0.key`, `connector.specific-offsets.0.partition`."""
    properties: dict[str, dict[str, str]] = {}
    offsets: dict[str, dict[str, str]] = {}
    for key, value in options.items():
        if match := _NUMBERED_PROPERTY.fullmatch(key):
            properties.setdefault(match[1], {})[match[2]] = value
        elif match := _NUMBERED_OFFSET.fullmatch(key):
            offsets.setdefault(match[1], {})[match[2]] = value
    pairs = {f"properties.{each['key']}": each["value"] for each in properties.values()}
    pairs.pop("properties.zookeeper.connect", None)
    if offsets:
        parts = (f"partition:{each['partition']},offset:{each['offset']}" for each in offsets.values())
        pairs["scan.startup.specific-offsets"] = ";".join(parts)
    return pairs
