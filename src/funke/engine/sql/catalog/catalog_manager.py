"""All catalogs of an environment, the current one, the resolution of names, and temporary objects."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from funke.engine.flink_exceptions import CatalogException, JavaException, ValidationException
from funke.engine.sql.catalog.catalog import Catalog
from funke.engine.sql.catalog.in_memory_catalog import InMemoryCatalog
from funke.engine.sql.catalog.objects import CatalogView, Identifier, TableObject

__all__ = ["CatalogManager", "failures_of_command"]


class CatalogManager:
    """Finds tables and views. A temporary one hides a permanent one of the same name.

    >>> manager = CatalogManager("default_catalog", "default_database")
    >>> str(manager.qualify(("t",)))
    '`default_catalog`.`default_database`.`t`'
    """

    def __init__(self, catalog: str = "default_catalog", database: str = "default_database") -> None:
        self._catalogs: dict[str, Catalog] = {catalog: InMemoryCatalog(catalog, database)}
        self._temporary: dict[Identifier, TableObject] = {}
        self.current_catalog = catalog
        self.current_database = database

    # Catalogs

    def register(self, name: str, catalog: Catalog) -> None:
        if not name:
            raise ValidationException("Catalog name cannot be null or empty.")
        if name in self._catalogs:
            raise CatalogException(f"Catalog {name} already exists.")
        catalog.open()
        self._catalogs[name] = catalog

    def unregister(self, name: str, ignore_if_not_exists: bool) -> None:
        if name not in self._catalogs:
            if ignore_if_not_exists:
                return
            raise CatalogException(f"Catalog {name} does not exist.")
        if name == self.current_catalog:
            raise CatalogException("Cannot drop a catalog which is currently in use.")
        self._catalogs.pop(name).close()

    def list_catalogs(self) -> list[str]:
        return sorted(self._catalogs)

    def get_catalog(self, name: str) -> Catalog | None:
        return self._catalogs.get(name)

    def catalog(self, name: str) -> Catalog:
        """Return a catalog that must be there."""
        if name not in self._catalogs:
            raise ValidationException(f"Catalog {name} does not exist")
        return self._catalogs[name]

    def use_catalog(self, name: str) -> None:
        """Make a catalog, and its default database, the current one."""
        if not name:
            raise ValidationException("Catalog name cannot be empty.")
        if name not in self._catalogs:
            raise CatalogException(f"A catalog with name [{name}] does not exist.")
        self.current_catalog = name
        # As in Flink: a database of the catalog before may not exist in this one.
        self.current_database = self._catalogs[name].default_database

    def use_database(self, name: str) -> None:
        """Make a database of the current catalog the current one."""
        if not name:
            raise ValidationException("The database name cannot be empty.")
        if not self._catalogs[self.current_catalog].database_exists(name):
            raise CatalogException(
                f"A database with name [{name}] does not exist in the catalog: [{self.current_catalog}]."
            )
        self.current_database = name

    def drop_database(self, catalog: str, name: str, ignore_if_not_exists: bool, is_cascade: bool) -> None:
        if (catalog, name) == (self.current_catalog, self.current_database):
            raise ValidationException("Cannot drop a database which is currently in use.")
        self.catalog(catalog).drop_database(name, ignore_if_not_exists, is_cascade)

    # Names

    def qualify(self, path: Sequence[str]) -> Identifier:
        """Return the full name of a path with one to three parts."""
        if not 1 <= len(path) <= 3:
            raise ValidationException("Object identifier must consist of 1 to 3 parts.")
        if not all(part and not part.isspace() for part in path):
            raise ValidationException("Parts of the object identifier are null or whitespace-only.")
        missing = (self.current_catalog, self.current_database)[: 3 - len(path)]
        return Identifier(*missing, *path)

    # Tables and views

    def find(self, identifier: Identifier) -> TableObject | None:
        """Return the table or view of a name, or None."""
        # As in Flink a temporary table hides the permanent one: a query runs unchanged over rows for a test.
        if identifier in self._temporary:
            return self._temporary[identifier]
        catalog = self._catalogs.get(identifier.catalog)
        if catalog is None or not catalog.table_exists(identifier.database, identifier.name):
            return None
        return catalog.get_table(identifier.database, identifier.name)

    def get(self, identifier: Identifier) -> TableObject:
        """Return the table or view of a name, which must be there."""
        table = self.find(identifier)
        if table is None:
            raise ValidationException(
                f"Cannot find table '{identifier}' in any of the catalogs [{', '.join(self.list_catalogs())}], "
                "nor as a temporary table."
            )
        return table

    def is_temporary(self, identifier: Identifier) -> bool:
        return identifier in self._temporary

    def create_table(self, identifier: Identifier, table: TableObject, ignore_if_exists: bool) -> None:
        with failures_of_command("CreateTable", identifier):
            self.catalog_of(identifier).create_table(identifier.database, identifier.name, table, ignore_if_exists)

    def create_temporary(self, identifier: Identifier, table: TableObject, ignore_if_exists: bool) -> None:
        if identifier not in self._temporary:
            self._temporary[identifier] = table
        elif not ignore_if_exists:
            raise ValidationException(f"Temporary table '{identifier}' already exists")

    def alter_table(self, identifier: Identifier, table: TableObject, ignore_if_not_exists: bool) -> None:
        if identifier in self._temporary:
            self._temporary[identifier] = table
            return
        with failures_of_command("AlterTable", identifier):
            catalog = self.catalog_of(identifier)
            catalog.alter_table(identifier.database, identifier.name, table, ignore_if_not_exists)

    def rename_table(self, identifier: Identifier, new_name: str, ignore_if_not_exists: bool) -> None:
        with failures_of_command("AlterTable", identifier):
            catalog = self.catalog_of(identifier)
            catalog.rename_table(identifier.database, identifier.name, new_name, ignore_if_not_exists)

    def drop_table(self, identifier: Identifier, ignore_if_not_exists: bool) -> bool:
        """Drop a permanent table; returns whether there was one."""
        return self._drop(identifier, ignore_if_not_exists, "Table", lambda each: not isinstance(each, CatalogView))

    def drop_view(self, identifier: Identifier, ignore_if_not_exists: bool) -> bool:
        """Drop a permanent view; returns whether there was one."""
        return self._drop(identifier, ignore_if_not_exists, "View", lambda each: isinstance(each, CatalogView))

    def drop_temporary_table(self, identifier: Identifier, ignore_if_not_exists: bool) -> bool:
        return self._drop_temporary(identifier, ignore_if_not_exists, lambda each: not isinstance(each, CatalogView))

    def drop_temporary_view(self, identifier: Identifier, ignore_if_not_exists: bool) -> bool:
        return self._drop_temporary(identifier, ignore_if_not_exists, lambda each: isinstance(each, CatalogView))

    def _drop(
        self,
        identifier: Identifier,
        ignore_if_not_exists: bool,
        kind: str,
        is_kind: Callable[[TableObject], bool],
    ) -> bool:
        # A temporary object hides the permanent one; dropping an object that the user does not see would surprise.
        if identifier in self._temporary and is_kind(self._temporary[identifier]):
            name = kind.lower()
            raise ValidationException(
                f"Temporary {name} with identifier '{identifier}' exists. Drop it first before removing the "
                f"permanent {name}."
            )
        catalog = self._catalogs.get(identifier.catalog)
        is_there = catalog is not None and catalog.table_exists(identifier.database, identifier.name)
        if is_there and catalog is not None and is_kind(catalog.get_table(identifier.database, identifier.name)):
            with failures_of_command("DropTable", identifier):
                catalog.drop_table(identifier.database, identifier.name, ignore_if_not_exists)
            return True
        if not ignore_if_not_exists:
            raise ValidationException(f"{kind} with identifier '{identifier.summary}' does not exist.")
        return False

    def _drop_temporary(
        self, identifier: Identifier, ignore_if_not_exists: bool, is_kind: Callable[[TableObject], bool]
    ) -> bool:
        table = self._temporary.get(identifier)
        if table is not None and is_kind(table):
            del self._temporary[identifier]
            return True
        if not ignore_if_not_exists:
            raise ValidationException(f"Temporary table or view with identifier '{identifier.summary}' does not exist.")
        return False

    # Lists, as SHOW and the environment give them: sorted, of the current database unless another is named

    def list_tables(self, catalog: str | None = None, database: str | None = None) -> list[str]:
        """Return tables and views, temporary ones too."""
        permanent = self._permanent(catalog, database, lambda owner, name: owner.list_tables(name))
        return sorted({*permanent, *self._temporary_names(catalog, database)})

    def list_views(self, catalog: str | None = None, database: str | None = None) -> list[str]:
        permanent = self._permanent(catalog, database, lambda owner, name: owner.list_views(name))
        # A temporary table hides a permanent view of the same name.
        hidden = set(self._temporary_names(catalog, database))
        return sorted({*(set(permanent) - hidden), *self._temporary_names(catalog, database, is_view=True)})

    def list_temporary_tables(self) -> list[str]:
        return sorted(self._temporary_names(None, None, is_view=False))

    def list_temporary_views(self) -> list[str]:
        return sorted(self._temporary_names(None, None, is_view=True))

    def _permanent(
        self, catalog: str | None, database: str | None, names: Callable[[Catalog, str], list[str]]
    ) -> list[str]:
        owner = self.catalog(catalog or self.current_catalog)
        database = database or self.current_database
        if not owner.database_exists(database):
            raise ValidationException(f"Database {database} does not exist")
        return names(owner, database)

    def _temporary_names(self, catalog: str | None, database: str | None, is_view: bool | None = None) -> Iterator[str]:
        namespace = (catalog or self.current_catalog, database or self.current_database)
        for identifier, table in self._temporary.items():
            is_wanted = is_view is None or isinstance(table, CatalogView) == is_view
            if is_wanted and (identifier.catalog, identifier.database) == namespace:
                yield identifier.name

    def catalog_of(self, identifier: Identifier) -> Catalog:
        """Return the catalog of a name, which must be there."""
        if identifier.catalog not in self._catalogs:
            raise ValidationException(f"Catalog {identifier.catalog} does not exist.")
        return self._catalogs[identifier.catalog]


@contextmanager
def failures_of_command(command: str, identifier: Identifier) -> Iterator[None]:
    """Say which command failed, as Flink does, and why."""
    try:
        yield
    # Flink's messages about the statement itself come as they are; only errors of a catalog get the command in front.
    except ValidationException:
        raise
    except JavaException as error:
        raise ValidationException(
            f"Could not execute {command} in path {identifier}\nCaused by: {type(error).__name__}: {error}"
        ) from error
