"""The names of the Table API that can be imported and not used: calling or making one raises."""

from __future__ import annotations

from typing import Any, NoReturn

from funke.engine.errors import UnsupportedFeatureError, unsupported

__all__ = [
    "CompiledPlan",
    "GroupWindowedTable",
    "GroupedTable",
    "OverWindowedTable",
    "StatementSet",
    "StreamTableEnvironment",
    "Table",
    "TableEnvironment",
    "TablePipeline",
    "TableResult",
    "WindowGroupedTable",
]

_REASON = "nothing runs tables yet; of pyflink.table, types, expressions, schemas and functions can be made"


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
