"""CREATE, ALTER and DROP of views, databases, catalogs and functions."""

from __future__ import annotations

from typing import Literal

from funke.engine.errors import UnsupportedFeatureError
from funke.engine.sql.parsing.table_grammar import TableGrammar
from funke.engine.sql.syntax.position import Position
from funke.engine.sql.syntax.statements import (
    AlterCatalog,
    AlterDatabase,
    AlterFunction,
    AlterView,
    CreateCatalog,
    CreateDatabase,
    CreateFunction,
    CreateView,
    DropObject,
    Statement,
)

__all__ = ["ObjectGrammar"]

_UNSUPPORTED = ("MATERIALIZED", "MODEL", "CONNECTION")


class ObjectGrammar(TableGrammar):
    """Reads what makes, changes and removes objects."""

    def create(self) -> Statement:
        position = self.position()
        self.expect("CREATE")
        if self.accept("OR"):
            self.expect("REPLACE")
            if self.at("MATERIALIZED"):
                raise UnsupportedFeatureError("CREATE OR REPLACE MATERIALIZED")
            self.expect("TABLE")
            return self.create_table(position, False, "create or replace")
        if self.accept("TEMPORARY"):
            return self._create_temporary(position)
        word = self._kind("TABLE", "VIEW", "FUNCTION", "DATABASE", "CATALOG")
        if word == "TABLE":
            return self.create_table(position, False, "create")
        if word == "VIEW":
            return self._create_view(position, False)
        if word == "FUNCTION":
            return self._create_function(position, False, False)
        return self._create_database(position) if word == "DATABASE" else self._create_catalog(position)

    def _create_temporary(self, position: Position) -> Statement:
        if self.accept("SYSTEM"):
            self.expect("FUNCTION")
            return self._create_function(position, True, True)
        word = self._kind("TABLE", "VIEW", "FUNCTION")
        if word == "TABLE":
            return self.create_table(position, True, "create")
        if word == "VIEW":
            return self._create_view(position, True)
        return self._create_function(position, True, False)

    def replace_table(self) -> Statement:
        """REPLACE TABLE … AS …."""
        position = self.position()
        self.expect("REPLACE", "TABLE")
        return self.create_table(position, False, "replace")

    def _kind(self, *words: str) -> str:
        if self.at_any(*_UNSUPPORTED):
            raise UnsupportedFeatureError(f"{self.before().key} {self.token.key}")
        return self.expect_any(*words)

    def _create_view(self, position: Position, is_temporary: bool) -> Statement:
        if_not_exists = self.if_not_exists()
        path = self.path()
        columns = self.names() if self.at("(") else ()
        comment = self.comment()
        self.expect("AS")
        query, text = self.query_with_text()
        return CreateView(path, query, text, columns, comment, is_temporary, if_not_exists, position=position)

    def _create_database(self, position: Position) -> Statement:
        if_not_exists = self.if_not_exists()
        path, comment = self.path(), self.comment()
        options = self.options() if self.accept("WITH") else ()
        return CreateDatabase(path, options, comment, if_not_exists, position=position)

    def _create_catalog(self, position: Position) -> Statement:
        if_not_exists = self.if_not_exists()
        name, comment = self.identifier(), self.comment()
        options = self.options() if self.accept("WITH") else ()
        return CreateCatalog(name, options, comment, if_not_exists, position=position)

    def _create_function(self, position: Position, is_temporary: bool, is_system: bool) -> Statement:
        if_not_exists = self.if_not_exists()
        path = (self.identifier(),) if is_system else self.path()
        self.expect("AS")
        identifier, language = self.string(), self._language()
        resources = self._resources()
        options = self.options() if self.accept("WITH") else ()
        return CreateFunction(
            path, identifier, language, resources, options, is_temporary, is_system, if_not_exists, position=position
        )

    def _language(self) -> str:
        # As in Flink a function without LANGUAGE is a class of Java.
        return self.expect_any("JAVA", "SCALA", "SQL", "PYTHON") if self.accept("LANGUAGE") else "JAVA"

    def _resources(self) -> tuple[str, ...]:
        return self.separated(self._resource) if self.accept("USING") else ()

    def _resource(self) -> str:
        self.expect("JAR")
        return self.string()

    # ALTER

    def alter(self) -> Statement:
        position = self.position()
        self.expect("ALTER")
        if self.accept("TEMPORARY"):
            is_system = self.accept("SYSTEM")
            self.expect("FUNCTION")
            return self._alter_function(position, True, is_system)
        word = self._kind("TABLE", "VIEW", "FUNCTION", "DATABASE", "CATALOG")
        if word == "TABLE":
            return self.alter_table(position)
        if word == "VIEW":
            return self._alter_view(position)
        if word == "FUNCTION":
            return self._alter_function(position, False, False)
        return self._alter_database(position) if word == "DATABASE" else self._alter_catalog(position)

    def _alter_view(self, position: Position) -> Statement:
        path = self.path()
        if self.accept("RENAME"):
            self.expect("TO")
            return AlterView(path, new_path=self.path(), position=position)
        self.expect("AS")
        query, text = self.query_with_text()
        return AlterView(path, query=query, text=text, position=position)

    def _alter_database(self, position: Position) -> Statement:
        path = self.path()
        self.expect("SET")
        return AlterDatabase(path, self.options(), position=position)

    def _alter_catalog(self, position: Position) -> Statement:
        name = self.identifier()
        if self.accept("SET"):
            return AlterCatalog(name, options=self.options(), position=position)
        if self.accept("RESET"):
            return AlterCatalog(name, keys=self.in_parentheses(self.string), position=position)
        self.expect("COMMENT")
        return AlterCatalog(name, comment=self.string(), position=position)

    def _alter_function(self, position: Position, is_temporary: bool, is_system: bool) -> Statement:
        if_exists = self.if_exists()
        path = self.path()
        self.expect("AS")
        identifier, language = self.string(), self._language()
        return AlterFunction(path, identifier, language, is_temporary, is_system, if_exists, position=position)

    # DROP

    def drop(self) -> Statement:
        position = self.position()
        self.expect("DROP")
        is_temporary = self.accept("TEMPORARY")
        is_system = is_temporary and self.accept("SYSTEM")
        words = ("FUNCTION",) if is_system else ("TABLE", "VIEW", "FUNCTION")
        word = self._kind(*words) if is_temporary else self._kind(*words, "DATABASE", "CATALOG")
        kind: Literal["table", "view", "database", "catalog", "function"] = word.lower()  # type: ignore[assignment]
        if_exists = self.if_exists()
        path = (self.identifier(),) if kind == "catalog" else self.path()
        is_cascade = kind == "database" and self.accept_any("CASCADE", "RESTRICT") == "CASCADE"
        return DropObject(kind, path, if_exists, is_temporary, is_system, is_cascade, position=position)
