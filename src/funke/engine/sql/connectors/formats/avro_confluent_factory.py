"""The format avro-confluent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from funke.engine.errors import UnsupportedFeatureError
from funke.engine.flink_exceptions import ValidationException
from funke.engine.formats.messages.avro_messages import RegistryDecoder, RegistryEncoder
from funke.engine.formats.messages.schema_registry import SchemaRegistry
from funke.engine.sql.connectors.formats.file_format_factory import FileFormatFactory
from funke.engine.sql.connectors.table_option import OptionValues, TableOption

if TYPE_CHECKING:
    from funke.engine.types.logical.row_type import RowField

__all__ = ["AvroConfluentFactory"]

_URL = TableOption("url", description="The address of the schema registry.", older_keys=("schema-registry.url",))
_SUBJECT = TableOption(
    "subject",
    description="Under which subject the schema of written rows is registered; topics have a default.",
    older_keys=("schema-registry.subject",),
)
_SCHEMA = TableOption("schema", description="The schema to read and write with; that of the columns by default.")
_SOURCE = TableOption(
    "basic-auth.credentials-source",
    description="Where name and password come from: USER_INFO for the option below, URL for the address.",
)
_USER_INFO = TableOption("basic-auth.user-info", description="Name and password, as name:password.")
_BEARER_SOURCE = TableOption("bearer-auth.credentials-source", description="STATIC_TOKEN for the option below.")
_TOKEN = TableOption("bearer-auth.token", description="The token.")
_CA_FILE = TableOption(
    "ssl.truststore.location", description="Trusted certificates as a PEM file; Java key stores are rejected."
)
_REJECTED = tuple(
    TableOption(key, description="Rejected: not available here.")
    for key in ("ssl.truststore.password", "ssl.keystore.location", "ssl.keystore.password", "properties")
)


class AvroConfluentFactory(FileFormatFactory):
    identifier = "avro-confluent"
    purpose = "Avro records after the number of their schema in a registry; for messages, not for files."
    options = (_URL, _SUBJECT, _SCHEMA, _SOURCE, _USER_INFO, _BEARER_SOURCE, _TOKEN, _CA_FILE, *_REJECTED)

    def create_decoder(self, fields: tuple[RowField, ...], values: OptionValues) -> RegistryDecoder:
        return RegistryDecoder(fields, _registry(values), values[_SCHEMA])

    def create_encoder(self, fields: tuple[RowField, ...], values: OptionValues) -> RegistryEncoder:
        registry = _registry(values)
        if values[_SUBJECT] is None:
            raise ValidationException("Option avro-confluent.subject is required for serialization")
        return RegistryEncoder(fields, registry, values[_SUBJECT], values[_SCHEMA])


def _registry(values: OptionValues) -> SchemaRegistry:
    for option in _REJECTED:
        if option in values or any(key.startswith(f"{option.key}.") for key in values.strings):
            raise UnsupportedFeatureError(f"the option 'avro-confluent.{option.key}'")
    if values[_URL] is None:
        raise ValidationException(
            "One or more required options are missing.\n\nMissing required options are:\n\navro-confluent.url"
        )
    for option, supported in ((_SOURCE, ("USER_INFO", "URL")), (_BEARER_SOURCE, ("STATIC_TOKEN",))):
        if values[option] not in (None, *supported):
            raise UnsupportedFeatureError(
                f"'avro-confluent.{option.key}' = '{values[option]}'", f"it may be {' or '.join(supported)}"
            )
    return SchemaRegistry(values[_URL], values[_USER_INFO], values[_TOKEN], values[_CA_FILE])
