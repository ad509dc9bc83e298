"""Statements on functions of users."""

from __future__ import annotations

from funke.engine.errors import UnsupportedFeatureError
from funke.engine.flink_exceptions import (
    FunctionAlreadyExistException,
    FunctionNotExistException,
    ValidationException,
)
from funke.engine.sql.catalog.objects import CatalogFunction
from funke.engine.sql.statements.outcome import OK, Outcome
from funke.engine.sql.statements.table_session import TableSession
from funke.engine.sql.syntax import statements as syntax

__all__ = ["alter_function", "create_function", "drop_function"]


def create_function(session: TableSession, statement: syntax.CreateFunction) -> Outcome:
    function = _function(statement.identifier, statement.language)
    if statement.resources:
        raise UnsupportedFeatureError(
            "CREATE FUNCTION … USING", "functions are written in Python; add files with add_python_file"
        )
    if statement.is_system:
        session.functions.create_temporary_system(statement.path[-1], function, statement.if_not_exists)
    elif statement.is_temporary:
        session.functions.create_temporary(statement.path, function, statement.if_not_exists)
    else:
        _create(session, statement, function)
    return OK


def alter_function(session: TableSession, statement: syntax.AlterFunction) -> Outcome:
    if statement.is_temporary:
        what = "system function" if statement.is_system else "catalog function"
        raise ValidationException(f"Alter temporary {what} is not supported")
    function = _function(statement.identifier, statement.language)
    identifier = session.catalogs.qualify(statement.path)
    catalog = session.catalogs.catalog(identifier.catalog)
    try:
        catalog.alter_function(identifier.database, identifier.name, function, statement.if_exists)
    except FunctionNotExistException as error:
        raise ValidationException(str(error)) from error
    return OK


def drop_function(session: TableSession, statement: syntax.DropObject) -> None:
    if statement.is_system:
        session.functions.drop_temporary_system(statement.path[-1], statement.if_exists)
        return
    if statement.is_temporary:
        session.functions.drop_temporary(statement.path, statement.if_exists)
        return
    identifier = session.catalogs.qualify(statement.path)
    catalog = session.catalogs.catalog(identifier.catalog)
    try:
        catalog.drop_function(identifier.database, identifier.name, statement.if_exists)
    except FunctionNotExistException as error:
        raise ValidationException(str(error)) from error


def _create(session: TableSession, statement: syntax.CreateFunction, function: CatalogFunction) -> None:
    identifier = session.catalogs.qualify(statement.path)
    catalog = session.catalogs.catalog(identifier.catalog)
    try:
        catalog.create_function(identifier.database, identifier.name, function, statement.if_not_exists)
    except FunctionAlreadyExistException as error:
        raise ValidationException(str(error)) from error


def _function(identifier: str, language: str) -> CatalogFunction:
    if language.upper() != "PYTHON":
        raise UnsupportedFeatureError(
            f"CREATE FUNCTION … LANGUAGE {language.upper()}", "Funke runs no Flink JVM; write LANGUAGE PYTHON"
        )
    return CatalogFunction(identifier, "PYTHON")
