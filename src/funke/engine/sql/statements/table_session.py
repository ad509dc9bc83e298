"""What an environment of tables knows: its catalogs, functions, modules and settings, and what a name means there."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import Protocol

from funke.engine.sql.binding.expression_binder import ExpressionBinder
from funke.engine.sql.binding.grouped_queries import plain_aggregate
from funke.engine.sql.binding.query_binder import QueryBinder
from funke.engine.sql.binding.relations import Column, Relation
from funke.engine.sql.binding.scope import Scope, ScopeColumn
from funke.engine.sql.catalog.catalog_manager import CatalogManager
from funke.engine.sql.catalog.function_registry import FunctionRegistry
from funke.engine.sql.catalog.module_manager import ModuleManager
from funke.engine.sql.catalog.objects import CatalogFunction, CatalogTable, CatalogView, Identifier
from funke.engine.sql.functions.aggregates.aggregate import AggregateFunction
from funke.engine.sql.functions.aggregates.catalog import find_aggregate
from funke.engine.sql.functions.catalog import find_function
from funke.engine.sql.functions.function import Function, Session
from funke.engine.sql.functions.user_aggregates import as_aggregate
from funke.engine.sql.functions.user_scalars import as_scalar
from funke.engine.sql.statements.catalog_definition import CatalogDefinition
from funke.engine.sql.statements.function_loading import load_function
from funke.engine.sql.statements.table_relations import relation_of
from funke.engine.sql.statements.time_zones import zone_of
from funke.engine.sql.syntax.expressions import Call, Expression
from funke.engine.sql.syntax.queries import Query
from funke.engine.types.logical.data_type import DataType

__all__ = ["SessionSettings", "TableSession"]


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
        self.modules = ModuleManager()
        # How catalogs were made, as far as SQL made them.
        self.catalog_definitions: dict[str, CatalogDefinition] = {}

    @property
    def zone(self) -> datetime.tzinfo:
        return zone_of(self.settings.get_local_timezone())

    def bind(self, query: Query) -> Relation:
        """The meaning of a query."""
        return self.binder().bind(query)

    def binder(self) -> QueryBinder:
        """What binds the queries of one statement: they all see the same time."""
        session = Session(self.zone, datetime.datetime.now(datetime.timezone.utc))
        return QueryBinder(self.find_relation, session, self.find_function, self.find_aggregate)

    def expression_type(self, expression: Expression, columns: Sequence[Column]) -> DataType:
        """The type of an expression on some columns."""
        scope = Scope(tuple(ScopeColumn(each.name, each.type, None, each.time) for each in columns))
        binder = self.binder()
        return ExpressionBinder(scope, binder.session, binder.find_function).bind(expression).type

    def find_relation(self, path: tuple[str, ...], options: tuple[tuple[str, str], ...] = ()) -> Relation | None:
        """The rows of a table or view; None if there is none."""
        found = None
        # As in SQL at large: the names of a path that is too short come from the current catalog and database.
        if 1 <= len(path) <= 3:
            identifier = self.catalogs.qualify(path)
            found = self.catalogs.find(identifier)
        return None if found is None else self.relation_of(identifier, found, dict(options))

    def relation_of(
        self, identifier: Identifier, found: CatalogTable | CatalogView, options: Mapping[str, str] | None = None
    ) -> Relation:
        """The rows of a table or view of the catalog, with the options of a hint."""
        return relation_of(self, identifier, found, options or {})

    def find_function(self, name: str) -> Function | None:
        """The function of a name: the user's temporary ones, built-in ones, those of modules, those of the catalog."""
        path = tuple(name.split("."))
        if len(path) == 1:
            system = self.functions.find_system(name)
            if system is not None:
                return _as_function(system)
            built_in = find_function(name) if self._uses_core else None
            if built_in is not None:
                return built_in
            of_module = self.modules.find(name)
            if of_module is not None:
                return as_scalar(of_module)
        found = self.functions.find(path) if len(path) <= 3 else None
        return None if found is None else _as_function(found)

    def find_aggregate(self, call: Call) -> AggregateFunction | None:
        """The aggregate function that a call means, in the same order; None if it means none."""
        if call.function is not None:
            return plain_aggregate(call)
        path = call.path or (call.name,)
        found = self.functions.find_system(path[0]) if len(path) == 1 else None
        if found is None and len(path) == 1 and self._uses_core:
            built_in = find_aggregate(path[0])
            if built_in is not None or find_function(path[0]) is not None:
                return built_in
        if found is None and len(path) <= 3:
            found = self.functions.find(path)
        user = None if found is None else load_function(found)
        return as_aggregate(user) if user is not None and user.kind == "aggregate" else None

    @property
    def _uses_core(self) -> bool:
        return "core" in self.modules.list_modules()


def _as_function(function: CatalogFunction) -> Function:
    return as_scalar(load_function(function))
