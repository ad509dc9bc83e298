"""Names of what is in a catalog, and of partitions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from funke.engine.errors import ConfigurationError, at_user_line
from funke.engine.sql.catalog.objects import Identifier

__all__ = ["CatalogPartitionSpec", "ObjectIdentifier", "ObjectPath"]


class ObjectPath:
    """A name with its database.

    >>> from funke.table.catalog import ObjectPath
    >>> path = ObjectPath("sales", "orders")
    >>> path.get_full_name(), path == ObjectPath.from_string("sales.orders")
    ('sales.orders', True)
    """

    def __init__(self, database_name: str | None = None, object_name: str | None = None) -> None:
        self._database_name = _required_name(database_name, "databaseName")
        self._object_name = _required_name(object_name, "objectName")

    def get_database_name(self) -> str:
        """Return the name of the database."""
        return self._database_name

    def get_object_name(self) -> str:
        """Return the name inside the database."""
        return self._object_name

    def get_full_name(self) -> str:
        """Return both names with a dot between them."""
        return f"{self._database_name}.{self._object_name}"

    def compare_to(self, other: ObjectPath) -> int:
        """Return a negative number if this stands before another path, a positive one if behind, else 0."""
        return (self._parts() > other._parts()) - (self._parts() < other._parts())

    def _parts(self) -> tuple[str, str]:
        return self._database_name, self._object_name

    def __str__(self) -> str:
        return self.get_full_name()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ObjectPath) and self._parts() == other._parts()

    def __hash__(self) -> int:
        return hash(self._parts())

    def __lt__(self, other: Any) -> bool:
        return self.compare_to(other) < 0 if isinstance(other, ObjectPath) else NotImplemented

    def __le__(self, other: Any) -> bool:
        return self.compare_to(other) <= 0 if isinstance(other, ObjectPath) else NotImplemented

    def __gt__(self, other: Any) -> bool:
        return self.compare_to(other) > 0 if isinstance(other, ObjectPath) else NotImplemented

    def __ge__(self, other: Any) -> bool:
        return self.compare_to(other) >= 0 if isinstance(other, ObjectPath) else NotImplemented

    @staticmethod
    def from_string(full_name: str) -> ObjectPath:
        """Return the path that `database.name` names."""
        parts = _required_name(full_name, "fullName").split(".")
        if len(parts) != 2:
            raise ConfigurationError(at_user_line(f"Cannot get split '{full_name}' to get databaseName and objectName"))
        return ObjectPath(*parts)


class ObjectIdentifier:
    """A name with its catalog and database.

    >>> from funke.table.catalog import ObjectIdentifier
    >>> orders = ObjectIdentifier.of("shop", "sales", "orders")
    >>> orders.as_summary_string(), str(orders)
    ('shop.sales.orders', '`shop`.`sales`.`orders`')
    """

    def __init__(self, identifier: Identifier) -> None:
        self._identifier = identifier

    @staticmethod
    def of(catalog_name: str, database_name: str, object_name: str) -> ObjectIdentifier:
        """Return the identifier of three names."""
        for what, name in (("Catalog", catalog_name), ("Database", database_name), ("Object", object_name)):
            if name is None:
                raise AssertionError(f"{what} name must not be null.")
        return ObjectIdentifier(Identifier(catalog_name, database_name, object_name))

    def get_catalog_name(self) -> str:
        """Return the name of the catalog."""
        return self._identifier.catalog

    def get_database_name(self) -> str:
        """Return the name of the database."""
        return self._identifier.database

    def get_object_name(self) -> str:
        """Return the name inside the database."""
        return self._identifier.name

    def to_object_path(self) -> ObjectPath:
        """Return the path without the catalog."""
        return ObjectPath(self._identifier.database, self._identifier.name)

    def to_list(self) -> list[str]:
        """Return the three names."""
        return [self._identifier.catalog, self._identifier.database, self._identifier.name]

    def as_serializable_string(self) -> str:
        """Return the names as SQL writes them, in back quotes."""
        return str(self._identifier)

    def as_summary_string(self) -> str:
        """Return the names with dots between them."""
        return self._identifier.summary

    def __str__(self) -> str:
        return self.as_serializable_string()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ObjectIdentifier) and self._identifier == other._identifier

    def __hash__(self) -> int:
        return hash(self._identifier)


class CatalogPartitionSpec:
    """Which partition is meant: a value for each column, or for some.

    >>> from funke.table.catalog import CatalogPartitionSpec
    >>> CatalogPartitionSpec({"day": "2026-11-19"}).get_partition_spec()
    {'day': '2026-11-19'}
    """

    def __init__(self, partition_spec: Mapping[str, str]) -> None:
        self._spec = dict(partition_spec)

    def get_partition_spec(self) -> dict[str, str]:
        """Return the values by column."""
        return dict(self._spec)

    def __str__(self) -> str:
        entries = ", ".join(f"{column}={value}" for column, value in self._spec.items())
        return f"CatalogPartitionSpec{{{{{entries}}}}}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CatalogPartitionSpec) and self._spec == other._spec

    def __hash__(self) -> int:
        return hash(frozenset(self._spec.items()))


def _required_name(name: str | None, what: str) -> str:
    if not name or name.isspace():
        raise ConfigurationError(at_user_line(f"{what} cannot be null or empty"))
    return name
