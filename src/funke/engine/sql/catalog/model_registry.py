"""The models of an environment: those of its catalogs, and temporary ones."""

from __future__ import annotations

from funke.engine.flink_exceptions import ValidationException
from funke.engine.sql.catalog.catalog_manager import CatalogManager, failures_of_command
from funke.engine.sql.catalog.objects import CatalogModel, Identifier

__all__ = ["ModelRegistry"]


class ModelRegistry:
    """Creates, lists and drops models; no query asks them."""

    def __init__(self, catalogs: CatalogManager) -> None:
        self._catalogs = catalogs
        self._temporary: dict[Identifier, CatalogModel] = {}

    def list_permanent(self) -> list[str]:
        """Return the names of the current database's own models."""
        return sorted(
            self._catalogs.catalog(self._catalogs.current_catalog).list_models(self._catalogs.current_database)
        )

    def list_temporary(self) -> list[str]:
        """Return the names of temporary models in the current database."""
        namespace = (self._catalogs.current_catalog, self._catalogs.current_database)
        return sorted(each.name for each in self._temporary if (each.catalog, each.database) == namespace)

    def create(self, identifier: Identifier, model: CatalogModel, ignore_if_exists: bool) -> None:
        """Create a model in a catalog."""
        with failures_of_command("CreateModel", identifier):
            catalog = self._catalogs.catalog_of(identifier)
            catalog.create_model(identifier.database, identifier.name, model, ignore_if_exists)

    def create_temporary(self, identifier: Identifier, model: CatalogModel, ignore_if_exists: bool) -> None:
        """Keep a model for this session."""
        if identifier not in self._temporary:
            self._temporary[identifier] = model
        elif not ignore_if_exists:
            raise ValidationException(f"Temporary model '{identifier}' already exists")

    def drop(self, identifier: Identifier, ignore_if_not_exists: bool) -> bool:
        """Drop a model of a catalog; returns whether its name means a model, which may be a temporary one."""
        catalog = self._catalogs.catalog_of(identifier)
        own = catalog.get_model(identifier.database, identifier.name)
        if own is not None:
            catalog.drop_model(identifier.database, identifier.name, True)
        elif identifier not in self._temporary:
            if not ignore_if_not_exists:
                raise ValidationException(f"Model with identifier '{identifier.summary}' does not exist.")
            return False
        return True

    def drop_temporary(self, identifier: Identifier) -> bool:
        """Drop a model of this session; returns whether there was one."""
        return self._temporary.pop(identifier, None) is not None
