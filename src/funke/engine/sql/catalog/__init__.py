"""Catalogs of tables, views, functions and models, and the resolution of names."""

from __future__ import annotations

from funke.engine.sql.catalog.catalog_manager import CatalogManager
from funke.engine.sql.catalog.function_registry import FunctionRegistry
from funke.engine.sql.catalog.model_registry import ModelRegistry
from funke.engine.sql.catalog.module_manager import ModuleManager
from funke.engine.sql.catalog.objects import (
    CatalogDatabase,
    CatalogFunction,
    CatalogModel,
    CatalogPartition,
    CatalogTable,
    CatalogView,
    Identifier,
    SchemaDefinition,
    TableObject,
)

__all__ = [
    "CatalogDatabase",
    "CatalogFunction",
    "CatalogManager",
    "CatalogModel",
    "CatalogPartition",
    "CatalogTable",
    "CatalogView",
    "FunctionRegistry",
    "Identifier",
    "ModelRegistry",
    "ModuleManager",
    "SchemaDefinition",
    "TableObject",
]
