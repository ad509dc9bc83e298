"""Finds the connector of a table, checks the table's options, and makes its source or sink."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib.metadata import EntryPoint, entry_points

from funke.engine.config.secret_keys import HIDDEN, masked
from funke.engine.errors import did_you_mean
from funke.engine.flink_exceptions import JavaException, ValidationException
from funke.engine.sql.connectors.error_causes import caused_by
from funke.engine.sql.connectors.table_factory import TableContext, TableFactory
from funke.engine.sql.connectors.table_option import TableOption
from funke.engine.sql.connectors.table_sink import TableSink
from funke.engine.sql.connectors.table_source import TableSource
from funke.engine.sql.connectors.watermark_options import WATERMARK_OPTIONS

__all__ = ["create_table_sink", "create_table_source", "find_factory", "table_factories"]

_GROUP = "funke.table_factories"
_PACKAGE = "funke.engine.sql.connectors"
_BUILT_IN = (
    f"blackhole={_PACKAGE}.blackhole_factory:BlackholeFactory",
    f"datagen={_PACKAGE}.datagen.datagen_factory:DatagenFactory",
    f"filesystem={_PACKAGE}.filesystem.filesystem_factory:FileSystemFactory",
    f"faker={_PACKAGE}.faker.faker_factory:FakerFactory",
    f"jdbc={_PACKAGE}.jdbc.jdbc_factory:JdbcFactory",
    f"mysql-cdc={_PACKAGE}.mysql_cdc.mysql_cdc_factory:MySqlCdcFactory",
    f"postgres-cdc={_PACKAGE}.postgres_cdc.postgres_cdc_factory:PostgresCdcFactory",
    f"kafka={_PACKAGE}.kafka.kafka_factory:KafkaFactory",
    f"upsert-kafka={_PACKAGE}.kafka.kafka_factory:UpsertKafkaFactory",
    f"print={_PACKAGE}.print_factory:PrintFactory",
    f"spark={_PACKAGE}.spark_factory:SparkFactory",
)
# Hints for connectors of Flink that do not exist here.
_ALTERNATIVES = {
    "mongodb": "There is no connector 'mongodb' here; read and write it by 'spark' with Spark's MongoDB connector.",
    "doris": "There is no connector 'doris' here; Doris speaks MySQL's protocol: use 'jdbc' with jdbc:mysql://….",
    "elasticsearch": "There is no connector 'elasticsearch' here; write to 'kafka', 'filesystem' or 'jdbc' instead.",
    "elasticsearch-6": "There is no connector 'elasticsearch-6' here; write to 'kafka', 'filesystem' or 'jdbc'.",
    "elasticsearch-7": "There is no connector 'elasticsearch-7' here; write to 'kafka', 'filesystem' or 'jdbc'.",
}
CONNECTOR = TableOption("connector", description="Which connector reads and writes the table.")
_PROPERTY_VERSION = TableOption("property-version", "Integer", "1", "Version of the options; only 1 exists.")
COMMON_OPTIONS = (CONNECTOR, _PROPERTY_VERSION, *WATERMARK_OPTIONS)


def create_table_source(context: TableContext) -> TableSource:
    """Return the source of a table of the catalog."""
    with _with_context("Unable to create a source for reading table", context):
        factory = find_factory(context.options)
        if not factory.reads:
            raise ValidationException(
                f"Connector '{factory.identifier}' can only be used as a sink. It cannot be used as a source."
            )
        _check_options(factory, context)
        return factory.create_source(context)


def create_table_sink(context: TableContext) -> TableSink:
    """Return the sink of a table of the catalog."""
    with _with_context("Unable to create a sink for writing table", context):
        factory = find_factory(context.options)
        if not factory.writes:
            raise ValidationException(
                f"Connector '{factory.identifier}' can only be used as a source. It cannot be used as a sink."
            )
        _check_options(factory, context)
        return factory.create_sink(context)


def find_factory(options: Mapping[str, str]) -> TableFactory:
    """Return the factory that a table's options name."""
    identifier = options.get(CONNECTOR.key)
    if identifier is None:
        raise ValidationException("Table options do not contain an option key 'connector' for discovering a connector.")
    with caused_by(f"Cannot discover a connector using option: 'connector'='{identifier}'"):
        factory = table_factories().get(identifier)
        if factory is None:
            available = "\n".join(sorted(table_factories()))
            other = _ALTERNATIVES.get(identifier)
            hint = f"\n\n{other}" if other else did_you_mean(identifier, table_factories(), begin="\n\nDid")
            raise ValidationException(
                f"Could not find any factory for identifier '{identifier}' that implements "
                "'org.apache.flink.table.factories.DynamicTableFactory' in the classpath.\n\n"
                f"Available factory identifiers are:\n\n{available}{hint}"
            )
        return factory


@cache
def table_factories() -> Mapping[str, TableFactory]:
    """Return all connectors by their names: those of this package, and those that other packages bring."""
    named = [EntryPoint(name, value, _GROUP) for name, _, value in (each.partition("=") for each in _BUILT_IN)]
    factories: dict[str, TableFactory] = {}
    for point in (*named, *entry_points(group=_GROUP)):
        factory = point.load()()
        if not isinstance(factory, TableFactory):
            raise ValidationException(f"the entry point {point.name} = {point.value} is not a TableFactory")
        # Later ones win: a package may replace a connector by one of the same name.
        factories[factory.identifier] = factory
    return factories


def _check_options(factory: TableFactory, context: TableContext) -> None:
    required, optional = factory.options_for(context)
    _check_required(required, context.options)
    _check_supported(factory, (*required, *optional), context.options)


def _check_required(required: tuple[TableOption, ...], options: Mapping[str, str]) -> None:
    missing = sorted(each.key for each in required if not any(key in options for key in each.keys))
    if missing:
        names = "\n".join(missing)
        raise ValidationException(
            f"One or more required options are missing.\n\nMissing required options are:\n\n{names}"
        )


def _check_supported(
    factory: TableFactory, supported_options: tuple[TableOption, ...], options: Mapping[str, str]
) -> None:
    supported_options = (*(COMMON_OPTIONS if factory.takes_common_options else (CONNECTOR,)), *supported_options)
    unknown = _unknown_keys(factory, supported_options, options)
    if unknown:
        supported = "\n".join(sorted({each.key for each in supported_options}))
        names = "\n".join(unknown)
        raise ValidationException(
            f"Unsupported options found for '{factory.identifier}'.\n\nUnsupported options:\n\n{names}\n\n"
            f"Supported options:\n\n{supported}"
        )


def _unknown_keys(
    factory: TableFactory, supported_options: tuple[TableOption, ...], options: Mapping[str, str]
) -> list[str]:
    keys = {key for each in supported_options for key in each.keys}
    return sorted(key for key in options if key not in keys and not key.startswith(factory.free_prefixes))


def _all_options(factory: TableFactory, context: TableContext) -> tuple[TableOption, ...]:
    """All options of a table that are known even if its options are wrong."""
    own = (*COMMON_OPTIONS, *factory.required_options, *factory.optional_options)
    try:
        required, optional = factory.options_for(context)
    except JavaException:  # an unknown format has no options
        return own
    return (*own, *required, *optional)


@contextmanager
def _with_context(what: str, context: TableContext) -> Iterator[None]:
    """Adds to an error the table in front, and behind it the options that may be mistyped.

    Mistyped ones are shown without their values, which may be secrets."""
    factory = table_factories().get(context.options.get(CONNECTOR.key, ""))
    supported_options = () if factory is None else _all_options(factory, context)
    unknown = [] if factory is None else _unknown_keys(factory, supported_options, context.options)
    shown_options = {**masked(context.options), **dict.fromkeys(unknown, HIDDEN)}
    options = "\n".join(f"'{key}'='{text}'" for key, text in sorted(shown_options.items()))
    keys = [key for each in supported_options for key in each.keys]
    hints = [f"\n\nUnknown option '{key}'{hint}" for key in unknown if (hint := did_you_mean(key, keys))]
    with caused_by(f"{what} '{context.identifier.summary}'.\n\nTable options are:\n\n{options}", "".join(hints)):
        yield
