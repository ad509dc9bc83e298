"""Functions of users: temporary ones of the system or of a database, and those of catalogs."""

from __future__ import annotations

from collections.abc import Sequence

from funke.engine.flink_exceptions import ValidationException
from funke.engine.sql.catalog.catalog_manager import CatalogManager
from funke.engine.sql.catalog.objects import CatalogFunction, Identifier

__all__ = ["FunctionRegistry"]


class FunctionRegistry:
    """Finds functions of users by their names in any case.

    A name alone means: a temporary system function, then a built-in one (which the caller asks about in between),
    then a temporary function of the current database, then one of its catalog. A path never means a system function.
    """

    def __init__(self, catalogs: CatalogManager) -> None:
        self._catalogs = catalogs
        self._system: dict[str, CatalogFunction] = {}
        self._temporary: dict[Identifier, CatalogFunction] = {}

    def find_system(self, name: str) -> CatalogFunction | None:
        """Return a temporary system function, or None."""
        return self._system.get(name.lower())

    def find(self, path: Sequence[str]) -> CatalogFunction | None:
        """Return a function of a database, temporary ones first, or None."""
        identifier = self._qualify(path)
        if identifier in self._temporary:
            return self._temporary[identifier]
        catalog = self._catalogs.get_catalog(identifier.catalog)
        return None if catalog is None else catalog.get_function(identifier.database, identifier.name)

    def create_temporary_system(self, name: str, function: CatalogFunction, ignore_if_exists: bool) -> None:
        if name.lower() not in self._system:
            self._system[name.lower()] = function
        elif not ignore_if_exists:
            raise ValidationException(
                f"Could not register temporary system function. A function named '{name}' does already exist."
            )

    def drop_temporary_system(self, name: str, ignore_if_not_exists: bool) -> bool:
        """Drop a temporary system function; returns whether there was one."""
        function = self._system.pop(name.lower(), None)
        if function is None and not ignore_if_not_exists:
            raise ValidationException(
                f"Could not drop temporary system function. A function named '{name}' doesn't exist."
            )
        return function is not None

    def create_temporary(self, path: Sequence[str], function: CatalogFunction, ignore_if_exists: bool) -> None:
        identifier = self._qualify(path)
        if identifier not in self._temporary:
            self._temporary[identifier] = function
        elif not ignore_if_exists:
            raise ValidationException(
                f"Could not register temporary catalog function. A function '{identifier}' does already exist."
            )

    def drop_temporary(self, path: Sequence[str], ignore_if_not_exists: bool) -> bool:
        """Drop a temporary function of a database; returns whether there was one."""
        identifier = self._qualify(path)
        function = self._temporary.pop(identifier, None)
        if function is None and not ignore_if_not_exists:
            raise ValidationException(f"Temporary catalog function {identifier} doesn't exist")
        return function is not None

    def create(self, path: Sequence[str], function: CatalogFunction, ignore_if_exists: bool) -> None:
        """Create a function in a catalog."""
        identifier = self._qualify(path)
        self._reject_hidden("register", identifier)
        catalog = self._catalogs.catalog(identifier.catalog)
        if catalog.get_function(identifier.database, identifier.name) is None:
            catalog.create_function(identifier.database, identifier.name, function, ignore_if_exists)
        elif not ignore_if_exists:
            raise ValidationException(
                f"Could not register catalog function. A function '{identifier}' does already exist."
            )

    def drop(self, path: Sequence[str], ignore_if_not_exists: bool) -> bool:
        """Drop a function of a catalog; returns whether there was one."""
        identifier = self._qualify(path)
        self._reject_hidden("drop", identifier)
        catalog = self._catalogs.catalog(identifier.catalog)
        if catalog.get_function(identifier.database, identifier.name) is not None:
            catalog.drop_function(identifier.database, identifier.name, ignore_if_not_exists)
            return True
        if not ignore_if_not_exists:
            raise ValidationException(f"Could not drop catalog function. A function '{identifier}' doesn't exist.")
        return False

    def list_user_defined(self) -> list[str]:
        """Return the names of all functions of users that a name alone can mean."""
        namespace = (self._catalogs.current_catalog, self._catalogs.current_database)
        permanent = self._catalogs.catalog(namespace[0]).list_functions(namespace[1])
        return sorted({*self.list_temporary(), *permanent})

    def list_temporary(self) -> list[str]:
        """Return the temporary ones of them, without asking a catalog."""
        namespace = (self._catalogs.current_catalog, self._catalogs.current_database)
        temporary = (each.name for each in self._temporary if (each.catalog, each.database) == namespace)
        return sorted({*self._system, *temporary})

    def _qualify(self, path: Sequence[str]) -> Identifier:
        identifier = self._catalogs.qualify(path)
        # In Flink names of functions have no case, and those of tables do: `MyFn(x)` is `myfn(x)`, T is not t.
        return Identifier(identifier.catalog, identifier.database, identifier.name.lower())

    def _reject_hidden(self, action: str, identifier: Identifier) -> None:
        if identifier in self._temporary:
            raise ValidationException(
                f"Could not {action} catalog function. A temporary function '{identifier}' does already exist. "
                "Please drop the temporary function first."
            )
