"""The session of a table environment: its catalogs, functions, modules and settings, and the meaning of names."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol, TypeVar

from funke.engine.sql.binding.grouped_queries import plain_aggregate
from funke.engine.sql.binding.query_binder import QueryBinder
from funke.engine.sql.binding.relations import Column, Relation
from funke.engine.sql.binding.scope import MissingName, Scope, ScopeColumn
from funke.engine.sql.binding.subqueries.correlations import plain_table_function
from funke.engine.sql.catalog import (
    CatalogManager,
    CatalogTable,
    CatalogView,
    FunctionRegistry,
    Identifier,
    ModelRegistry,
    ModuleManager,
)
from funke.engine.sql.functions.aggregates.aggregate import AggregateFunction
from funke.engine.sql.functions.aggregates.catalog import find_aggregate
from funke.engine.sql.functions.catalog import find_function
from funke.engine.sql.functions.dates.time_zones import zone_of
from funke.engine.sql.functions.function import Function, Session
from funke.engine.sql.functions.users.async_calls import AsyncCalls
from funke.engine.sql.functions.users.user_aggregates import as_aggregate
from funke.engine.sql.functions.users.user_scalars import as_scalar
from funke.engine.sql.statements.catalog_definition import CatalogDefinition
from funke.engine.sql.statements.function_loading import load_function
from funke.engine.sql.statements.tables.resolved_table import ResolvedTable, resolved
from funke.engine.sql.statements.tables.table_relations import relation_of
from funke.engine.sql.syntax.expressions import Call, Expression
from funke.engine.sql.syntax.queries import Query
from funke.engine.sql.syntax.user_function import UserFunction
from funke.engine.types.logical.data_type import DataType

__all__ = ["SessionSettings", "TableSession"]

F = TypeVar("F")


class SessionSettings(Protocol):
    """The settings of an environment, as texts."""

    def get(self, key: str, default_value: str) -> str:
        """Return the value of a key."""
        ...

    def set(self, key: str, value: str) -> object:
        """Store a value."""
        ...

    def reset(self, key: str | None) -> None:
        """Take back what was set for a key, or everything that was."""
        ...

    def to_map(self) -> dict[str, str]:
        """Return everything that is set."""
        ...

    def get_local_timezone(self) -> str:
        """Return the zone that instants are shown in."""
        ...


class TableSession:
    """Binds queries with the tables and functions of an environment."""

    def __init__(self, settings: SessionSettings, is_streaming: bool, catalog: str, database: str) -> None:
        self.settings = settings
        self.is_streaming = is_streaming
        self.catalogs = CatalogManager(catalog, database)
        self.functions = FunctionRegistry(self.catalogs)
        self.models = ModelRegistry(self.catalogs)
        self.modules = ModuleManager()
        # How catalogs were made, as far as SQL made them.
        self.catalog_definitions: dict[str, CatalogDefinition] = {}
        # Tables of a program that no catalog has; a stored plan gives them a name.
        self.anonymous_tables: dict[Identifier, CatalogTable] = {}

    @property
    def zone(self) -> datetime.tzinfo:
        return zone_of(self.settings.get_local_timezone())

    def bind(self, query: Query) -> Relation:
        """The meaning of a query."""
        return self.binder().bind(query)

    def binder(self) -> QueryBinder:
        """A binder of queries with the current namespace and settings."""
        own = tuple(self.functions.list_temporary())
        database, async_calls = self.catalogs.current_database, AsyncCalls.of(self.settings)
        session = Session(self.zone, database, async_calls, self._pandas_rows, own_functions=own)
        return QueryBinder(
            self.find_relation,
            session,
            self.find_function,
            self.find_aggregate,
            self.find_table_function,
            self.missing_part,
            self.is_streaming,
        )

    def expression_type(self, expression: Expression, columns: Sequence[Column]) -> DataType:
        """The type of an expression on some columns."""
        scope = Scope(tuple(ScopeColumn(each.name, each.type, None, each.time) for each in columns))
        binder = self.binder()
        return binder.binder_of(scope).bind(expression).type

    def find_relation(self, path: tuple[str, ...], options: tuple[tuple[str, str], ...] = ()) -> Relation | None:
        """The rows of a table or view; None if there is none."""
        table = None
        # As in SQL at large: the names of a path that is too short come from the current catalog and database.
        if 1 <= len(path) <= 3:
            identifier = self.catalogs.qualify(path)
            table = self.catalogs.find(identifier)
        return None if table is None else self.relation_of(identifier, table, dict(options))

    def find_table(self, path: tuple[str, ...]) -> Relation | None:
        """The rows of a table or view for the Table API, where one that cannot be read is rejected by its jobs."""
        if not 1 <= len(path) <= 3:
            return None
        identifier = self.catalogs.qualify(path)
        table = self.catalogs.find(identifier)
        return None if table is None else self.relation_of(identifier, table, may_be_unreadable=True)

    def missing_part(self, path: tuple[str, ...]) -> MissingName:
        """The first part of a path that there is not: a catalog, a database, or the table."""
        if len(path) == 3 and self.catalogs.get_catalog(path[0]) is None:
            return MissingName(path[0], tuple(self.catalogs.list_catalogs()))
        catalog = self.catalogs.get_catalog(path[0] if len(path) == 3 else self.catalogs.current_catalog)
        if len(path) > 1 and (catalog is None or not catalog.database_exists(path[-2])):
            return MissingName(path[-2], () if catalog is None else tuple(catalog.list_databases()))
        database = path[-2] if len(path) > 1 else None
        return MissingName(path[-1], tuple(self.catalogs.list_tables(path[0] if len(path) == 3 else None, database)))

    def find_declared(self, path: tuple[str, ...]) -> ResolvedTable | None:
        """The columns of a table as they were declared; None if it is a view."""
        table = self.catalogs.find(self.catalogs.qualify(path))
        return self.declared(table) if isinstance(table, CatalogTable) else None

    def declared(self, table: CatalogTable) -> ResolvedTable:
        """The columns of a table as they were declared."""
        return resolved(table.schema, self.binder())

    def relation_of(
        self,
        identifier: Identifier,
        table: CatalogTable | CatalogView,
        options: Mapping[str, str] | None = None,
        may_be_unreadable: bool = False,
    ) -> Relation:
        """The rows of a table or view of the catalog, with the options of a hint."""
        return relation_of(self, identifier, table, options or {}, may_be_unreadable)

    def find_function(self, name: str) -> Function | None:
        """The scalar function of a name; None if there is none, or if it is of another kind."""
        function = self._find(name, _built_in)
        if isinstance(function, UserFunction):
            return as_scalar(function) if "scalar" in function.kind else None
        return function if isinstance(function, Function) else None

    def find_aggregate(self, call: Call) -> AggregateFunction | None:
        """The aggregate function that a call means; None if it means none."""
        if call.function is not None:
            return plain_aggregate(call)
        function = self._find(".".join(call.path) or call.name, _built_in)
        if isinstance(function, UserFunction):
            return as_aggregate(function) if function.kind == "aggregate" else None
        return function if isinstance(function, AggregateFunction) else None

    def find_table_function(self, call: Call) -> UserFunction | None:
        """The table function that a call means; None if it means none."""
        if call.function is not None:
            return plain_table_function(call)
        function = self._find(".".join(call.path) or call.name, lambda name: None)
        return function if function is not None and function.kind == "table" else None

    def with_user_function(self, call: Call) -> Call:
        """A call by name as a call of the user function of that name, if there is one."""
        function = None if call.function is not None else self._find(".".join(call.path) or call.name, _built_in)
        return replace(call, function=function) if isinstance(function, UserFunction) else call

    def _find(self, name: str, built_in: Callable[[str], F | None]) -> F | UserFunction | None:
        """The function of a name: temporary ones of the system, built-in ones, of modules, of the database."""
        path = tuple(name.split("."))
        if len(path) == 1:
            system = self.functions.find_system(name)
            if system is not None:
                return load_function(system)
            # USE MODULES without core takes the built-in functions away.
            own = built_in(name) if self._uses_core else None
            if own is not None:
                return own
            of_module = self.modules.find(name)
            if of_module is not None:
                return of_module
        function = self.functions.find(path) if len(path) <= 3 else None
        return None if function is None else load_function(function)

    @property
    def _pandas_rows(self) -> int:
        """The number of rows that a pandas function gets at once, by Flink's options and their defaults."""
        sizes = (("python.fn-execution.bundle.size", "100000"), ("python.fn-execution.arrow.batch.size", "10000"))
        return max(min(int(self.settings.get(key, default)) for key, default in sizes), 1)

    @property
    def _uses_core(self) -> bool:
        return "core" in self.modules.list_modules()


def _built_in(name: str) -> Function | AggregateFunction | None:
    return find_function(name) or find_aggregate(name)
