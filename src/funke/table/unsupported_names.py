"""The names of the Table API that can be imported and not used: calling or making one raises."""

from __future__ import annotations

from typing import Any, Generic, NoReturn, TypeVar

from funke.engine.errors import UnsupportedFeatureError, unsupported

__all__ = [
    "AggregateFunction",
    "AsyncScalarFunction",
    "ChangelogMode",
    "CompiledPlan",
    "DataView",
    "EnvironmentSettings",
    "ExplainDetail",
    "Expression",
    "FormatDescriptor",
    "FunctionContext",
    "GroupWindowedTable",
    "GroupedTable",
    "ListView",
    "MapView",
    "Module",
    "ModuleEntry",
    "OverWindowedTable",
    "PlanReference",
    "ResultKind",
    "ScalarFunction",
    "Schema",
    "SqlDialect",
    "StatementSet",
    "StreamTableEnvironment",
    "Table",
    "TableAggregateFunction",
    "TableConfig",
    "TableDescriptor",
    "TableEnvironment",
    "TableFunction",
    "TablePipeline",
    "TableResult",
    "TableSchema",
    "WindowGroupedTable",
]

T = TypeVar("T")
ACC = TypeVar("ACC")

_REASON = "Funke runs DataStream programs; of pyflink.table, only the data types work"


class _Unsupported:
    """A class that programs may import, annotate with and derive from; instances cannot be made."""

    def __new__(cls, *_args: Any, **_kwargs: Any) -> NoReturn:
        # A class of the user's own is named by the class of the Table API that it extends.
        known = next(each for each in cls.__mro__ if each.__module__ == __name__)
        raise UnsupportedFeatureError(_feature(known.__qualname__), _REASON)


def _feature(name: str) -> str:
    return f"the Table API: {name}"


def _refused(name: str) -> Any:
    return staticmethod(unsupported(_feature(name), _REASON))


class TableEnvironment(_Unsupported):
    """Where tables are made and SQL is run."""

    create = _refused("TableEnvironment.create")


class StreamTableEnvironment(TableEnvironment):
    """Where tables and streams become each other."""

    create = _refused("StreamTableEnvironment.create")


class EnvironmentSettings(_Unsupported):
    """Settings of a table environment."""

    class Builder(_Unsupported):
        """Collects settings."""

    new_instance = _refused("EnvironmentSettings.new_instance")
    in_streaming_mode = _refused("EnvironmentSettings.in_streaming_mode")
    in_batch_mode = _refused("EnvironmentSettings.in_batch_mode")


class TableConfig(_Unsupported):
    """Options of a table environment."""

    get_default = _refused("TableConfig.get_default")


class Table(_Unsupported):
    """A table."""


class GroupedTable(_Unsupported):
    """A table with groups."""


class GroupWindowedTable(_Unsupported):
    """A table with windows."""


class OverWindowedTable(_Unsupported):
    """A table with windows around each row."""


class WindowGroupedTable(_Unsupported):
    """A table with windows and groups."""


class StatementSet(_Unsupported):
    """Statements that run together."""


class TableResult(_Unsupported):
    """What a statement gave."""


class TablePipeline(_Unsupported):
    """A way from tables into a sink."""


class CompiledPlan(_Unsupported):
    """A plan that can be stored."""


class PlanReference(_Unsupported):
    """Where a stored plan lies."""

    from_file = _refused("PlanReference.from_file")
    from_json_string = _refused("PlanReference.from_json_string")
    from_smile_bytes = _refused("PlanReference.from_smile_bytes")


class ScalarFunction(_Unsupported):
    """A function from values to a value."""


class AsyncScalarFunction(_Unsupported):
    """A function from values to a value that waits for others."""


class TableFunction(_Unsupported):
    """A function from values to rows."""


class AggregateFunction(_Unsupported, Generic[T, ACC]):
    """A function from rows to a value."""


class TableAggregateFunction(_Unsupported, Generic[T, ACC]):
    """A function from rows to rows."""


class FunctionContext(_Unsupported):
    """What a function learns about where it runs."""


class DataView(_Unsupported):
    """A collection in the accumulator of an aggregate function."""


class ListView(DataView, Generic[T]):
    """A list in an accumulator."""


class MapView(_Unsupported, Generic[T, ACC]):
    """A map in an accumulator."""


class TableDescriptor(_Unsupported):
    """Describes a table of a connector."""

    class Builder(_Unsupported):
        """Collects the description."""

    for_connector = _refused("TableDescriptor.for_connector")


class FormatDescriptor(_Unsupported):
    """Describes the format of a table."""

    class Builder(_Unsupported):
        """Collects the description."""

    for_format = _refused("FormatDescriptor.for_format")


class Schema(_Unsupported):
    """Describes the columns of a table."""

    class Builder(_Unsupported):
        """Collects the columns."""

    new_builder = _refused("Schema.new_builder")


class TableSchema(_Unsupported):
    """The columns of a table."""

    class Builder(_Unsupported):
        """Collects the columns."""

    builder = _refused("TableSchema.builder")


class Module(_Unsupported):
    """A set of functions."""


class ModuleEntry(_Unsupported):
    """A module, and whether it is used."""


class Expression(_Unsupported, Generic[T]):
    """A computed column."""


class ChangelogMode(_Unsupported):
    """The kinds of rows in a stream of changes."""

    insert_only = _refused("ChangelogMode.insert_only")
    upsert = _refused("ChangelogMode.upsert")
    all = _refused("ChangelogMode.all")


class SqlDialect(_Unsupported):
    """The dialects of SQL."""

    DEFAULT = 0
    HIVE = 1


class ExplainDetail(_Unsupported):
    """What an explained plan shows in addition."""

    ESTIMATED_COST = 0
    CHANGELOG_MODE = 1
    JSON_EXECUTION_PLAN = 2
    PLAN_ADVICE = 3


class ResultKind(_Unsupported):
    """What kind of result a statement has."""

    SUCCESS = 0
    SUCCESS_WITH_CONTENT = 1
