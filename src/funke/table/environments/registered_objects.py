"""Catalogs, databases, modules, functions and models of an environment of tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from funke.engine.errors import unsupported
from funke.engine.sql.catalog.objects import CatalogFunction
from funke.engine.sql.functions.built_in_names import built_in_names
from funke.engine.sql.statements.statement_executor import execute_statement
from funke.engine.sql.syntax import statements as syntax
from funke.engine.sql.syntax.path_text import parse_path
from funke.table.catalog import Catalog, CatalogDescriptor, UserCatalog
from funke.table.flink_1.old_name_notes import note_old_name
from funke.table.model_descriptor import ModelDescriptor
from funke.table.module import Module, ModuleEntry
from funke.table.udf import (
    AggregateFunction,
    TableAggregateFunction,
    UserDefinedFunctionWrapper,
    udaf,
    udtaf,
)

if TYPE_CHECKING:
    from funke.engine.sql.statements.table_session import TableSession

__all__ = ["RegisteredObjects"]

_NO_JAVA = "Funke runs no Flink JVM; write the function in Python: udf(), udtf(), udaf() of pyflink.table.udf"


class RegisteredObjects:
    """The part of an environment that knows names of everything but tables."""

    _session: TableSession

    # Models, which no query asks

    def list_models(self) -> list[str]:
        """Return the names of models."""
        return self._session.models.list_permanent()

    def list_temporary_models(self) -> list[str]:
        """Return the names of temporary models."""
        return self._session.models.list_temporary()

    def create_model(
        self, model_path: str, model_descriptor: ModelDescriptor, ignore_if_exists: bool | None = False
    ) -> None:
        """Make a model of the catalog."""
        identifier = self._session.catalogs.qualify(parse_path(model_path))
        self._session.models.create(identifier, model_descriptor._to_catalog_model(), bool(ignore_if_exists))

    def create_temporary_model(
        self, model_path: str, model_descriptor: ModelDescriptor, ignore_if_exists: bool | None = False
    ) -> None:
        """Keep a model for this session."""
        identifier = self._session.catalogs.qualify(parse_path(model_path))
        self._session.models.create_temporary(identifier, model_descriptor._to_catalog_model(), bool(ignore_if_exists))

    def drop_model(self, model_path: str, ignore_if_not_exists: bool | None = True) -> bool:
        """Drop a model of the catalog; returns whether there was one."""
        identifier = self._session.catalogs.qualify(parse_path(model_path))
        return self._session.models.drop(identifier, bool(ignore_if_not_exists))

    def drop_temporary_model(self, model_path: str) -> bool:
        """Forget a temporary model; returns whether there was one."""
        return self._session.models.drop_temporary(self._session.catalogs.qualify(parse_path(model_path)))

    # Catalogs, databases, modules

    def create_catalog(self, catalog_name: str, catalog_descriptor: CatalogDescriptor) -> None:
        """Make a catalog as its description says."""
        options = tuple(catalog_descriptor._configuration.to_dict().items())
        statement = syntax.CreateCatalog(catalog_name, options, catalog_descriptor._comment)
        execute_statement(self._session, statement)

    def register_catalog(self, catalog_name: str, catalog: Catalog) -> None:
        """Add a catalog, which may be one that the program wrote itself."""
        self._session.catalogs.register(catalog_name, UserCatalog(catalog_name, catalog))

    def get_catalog(self, catalog_name: str) -> Catalog | None:
        """Return a catalog; None if there is none."""
        catalog = self._session.catalogs.get_catalog(catalog_name)
        return None if catalog is None else Catalog(catalog)

    def load_module(self, module_name: str, module: Module) -> None:
        """Add a module, behind those that are there."""
        self._session.modules.load(module_name, module._user_functions())

    def unload_module(self, module_name: str) -> None:
        """Take a module away."""
        self._session.modules.unload(module_name)

    def use_modules(self, *module_names: str) -> None:
        """Ask these modules for functions, in this order, and no others."""
        self._session.modules.use(module_names)

    def list_catalogs(self) -> list[str]:
        """Return the names of all catalogs."""
        return self._session.catalogs.list_catalogs()

    def list_modules(self) -> list[str]:
        """Return the names of modules in use."""
        return self._session.modules.list_modules()

    def list_full_modules(self) -> list[ModuleEntry]:
        """Return all modules, and whether they are in use."""
        return [ModuleEntry(*each) for each in self._session.modules.list_full_modules()]

    def list_databases(self) -> list[str]:
        """Return the names of the current catalog's databases."""
        return sorted(self._session.catalogs.catalog(self.get_current_catalog()).list_databases())

    def get_current_catalog(self) -> str:
        """Return the name of the current catalog."""
        return self._session.catalogs.current_catalog

    def use_catalog(self, catalog_name: str) -> None:
        """Make a catalog, and its default database, the current one."""
        self._session.catalogs.use_catalog(catalog_name)

    def get_current_database(self) -> str:
        """Return the name of the current database."""
        return self._session.catalogs.current_database

    def use_database(self, database_name: str) -> None:
        """Make a database of the current catalog the current one."""
        self._session.catalogs.use_database(database_name)

    # Functions

    def create_temporary_system_function(self, name: str, function: Any) -> None:
        """Give a function a name that holds in all databases."""
        self._session.functions.create_temporary_system(name, _catalog_function(function), False)

    def drop_temporary_system_function(self, name: str) -> bool:
        """Forget such a function; returns whether there was one."""
        return self._session.functions.drop_temporary_system(name, True)

    def create_temporary_function(self, path: str, function: Any) -> None:
        """Give a function a name in a database, while this environment lives."""
        self._session.functions.create_temporary(parse_path(path), _catalog_function(function), False)

    def drop_temporary_function(self, path: str) -> bool:
        """Forget such a function; returns whether there was one."""
        return self._session.functions.drop_temporary(parse_path(path), True)

    def drop_function(self, path: str) -> bool:
        """Drop a function of a catalog; returns whether there was one."""
        return self._session.functions.drop(parse_path(path), True)

    def register_function(self, name: str, function: UserDefinedFunctionWrapper) -> None:
        """Give a function a name, as in Flink 1.x; an older one of that name is replaced."""
        note_old_name("register_function()")
        self._session.functions.drop_temporary_system(name, True)
        self.create_temporary_system_function(name, function)

    create_java_temporary_system_function = unsupported(
        "TableEnvironment.create_java_temporary_system_function", _NO_JAVA
    )
    create_java_function = unsupported("TableEnvironment.create_java_function", _NO_JAVA)
    create_java_temporary_function = unsupported("TableEnvironment.create_java_temporary_function", _NO_JAVA)
    register_java_function = unsupported("TableEnvironment.register_java_function", _NO_JAVA)

    def list_user_defined_functions(self) -> list[str]:
        """Return the names of the program's functions."""
        return self._session.functions.list_user_defined()

    def list_functions(self) -> list[str]:
        """Return the names of all functions."""
        return sorted({*built_in_names(), *self.list_user_defined_functions()})


def _catalog_function(function: Any) -> CatalogFunction:
    decorated = _decorated(function)
    return CatalogFunction(decorated._name, "PYTHON", function=decorated)


def _decorated(function: Any) -> UserDefinedFunctionWrapper:
    if isinstance(function, UserDefinedFunctionWrapper):
        return function
    # PyFlink wraps aggregates; a class that names its types needs no decorator.
    if isinstance(function, TableAggregateFunction):
        wrapper = udtaf(
            function, result_type=function.get_result_type(), accumulator_type=function.get_accumulator_type()
        )
    elif isinstance(function, AggregateFunction):
        wrapper = udaf(
            function, result_type=function.get_result_type(), accumulator_type=function.get_accumulator_type()
        )
    else:
        raise TypeError(
            "a table function is made by udf(), udtf(), udaf() or udtaf(), which say its types; "
            f"got {type(function).__name__}"
        )
    assert isinstance(wrapper, UserDefinedFunctionWrapper)
    return wrapper
