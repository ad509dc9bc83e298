"""CREATE TABLE and ALTER TABLE."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

from funke.engine.sql.parsing.query_grammar import QueryGrammar
from funke.engine.sql.parsing.tokens import Token
from funke.engine.sql.syntax.expressions import Expression
from funke.engine.sql.syntax.position import Position
from funke.engine.sql.syntax.queries import Query
from funke.engine.sql.syntax.statements import (
    AlterTable,
    ColumnDefinition,
    CreateTable,
    Distribution,
    LikeClause,
    Partition,
    Statement,
    WatermarkDefinition,
)

__all__ = ["TableGrammar"]

_LIKE_FEATURES = ("ALL", "CONSTRAINTS", "DISTRIBUTION", "GENERATED", "METADATA", "OPTIONS", "PARTITIONS", "WATERMARKS")
_ENFORCED = (
    "Flink doesn't support ENFORCED mode for PRIMARY KEY constraint. ENFORCED/NOT ENFORCED controls if the constraint "
    "checks are performed on the incoming/outgoing data. Flink does not own the data therefore the only supported mode "
    "is the NOT ENFORCED mode"
)


@dataclass
class _Schema:
    """The columns and constraints of a table, filled in as they are read."""

    columns: list[ColumnDefinition] = field(default_factory=list)
    watermark: WatermarkDefinition | None = None
    primary_key: tuple[str, ...] = ()
    primary_key_name: str = ""


class TableGrammar(QueryGrammar):
    """Reads definitions of tables and changes of them."""

    def create_table(
        self, position: Position, is_temporary: bool, mode: Literal["create", "replace", "create or replace"]
    ) -> Statement:
        """The statement behind its words CREATE [TEMPORARY] TABLE."""
        if_not_exists = self.if_not_exists()
        path = self.path()
        start = self.token
        schema = self._schema() if self.at("(") else _Schema()
        comment = self.comment()
        distribution = self._distribution() if self.accept("DISTRIBUTED") else None
        partitioned_by = self._partitioned_by() if self.accept("PARTITIONED") else ()
        options = self.options() if self.accept("WITH") else ()
        like = self._like_clause() if self.accept("LIKE") else None
        query, query_text = self.query_with_text() if like is None and self.accept("AS") else (None, "")
        if query is None:
            self._require_types(start, schema.columns)
        return CreateTable(
            path,
            tuple(schema.columns),
            schema.watermark,
            schema.primary_key,
            distribution,
            partitioned_by,
            options,
            comment,
            like,
            query,
            is_temporary,
            if_not_exists,
            mode,
            primary_key_name=schema.primary_key_name,
            query_text=query_text,
            position=position,
        )

    def query_with_text(self) -> tuple[Query, str]:
        """A query, and how it is written."""
        start = self.token.start
        query = self.query()
        return query, self.text[start : self.before().end]

    def _partitioned_by(self) -> tuple[str, ...]:
        self.expect("BY")
        return self.names()

    def _require_types(self, start: Token, columns: list[ColumnDefinition]) -> None:
        if any(column.type is None and column.expression is None for column in columns):
            message = "Columns identifiers without types in the schema are supported on CTAS/RTAS statements only"
            self.fail_at(self.position(start), f"{message}.")

    # Columns and constraints

    def _schema(self) -> _Schema:
        schema = _Schema()
        self.expect("(")
        self._schema_item(schema)
        while self.accept(","):
            self._schema_item(schema)
        self.expect(")")
        return schema

    def _schema_item(self, schema: _Schema) -> None:
        if self.at("WATERMARK"):
            token = self.token
            if schema.watermark is not None:
                self.fail("Multiple WATERMARK statements is not supported yet.", token)
            schema.watermark = self._watermark()
        elif self.at_any("CONSTRAINT", "PRIMARY", "UNIQUE"):
            self._table_constraint(schema)
        else:
            self._column(schema)

    def _watermark(self) -> WatermarkDefinition:
        self.expect("WATERMARK", "FOR")
        column = self.path()
        self.expect("AS")
        return WatermarkDefinition(column, self.expression())

    def _set_key(self, schema: _Schema, key: tuple[str, ...], name: str) -> None:
        if schema.primary_key:
            self.fail("Duplicate primary key definition", self.before())
        schema.primary_key, schema.primary_key_name = key, name

    def _table_constraint(self, schema: _Schema) -> None:
        name = self.identifier() if self.accept("CONSTRAINT") else ""
        start = self.token
        self._key_words()
        columns = self.names()
        self._enforcement(start.key == "PRIMARY")
        self._set_key(schema, columns, name)

    def _key_words(self) -> None:
        token = self.token
        if self.expect_any("PRIMARY", "UNIQUE") == "UNIQUE":
            self.fail("UNIQUE constraint is not supported yet", token)
        self.expect("KEY")

    def _enforcement(self, is_primary: bool) -> None:
        token = self.before()
        if self.accept("NOT"):
            self.expect("ENFORCED")
            return
        self.accept("ENFORCED")
        if is_primary:
            self.fail(_ENFORCED, token)

    def _column(self, schema: _Schema) -> None:
        position = self.position()
        name = self.identifier()
        if self.accept("AS"):
            column = ColumnDefinition(name, expression=self.expression(), comment=self.comment(), position=position)
        elif self.at_any(",", ")"):
            # CREATE TABLE t (b, a) AS SELECT …
            column = ColumnDefinition(name, position=position)
        else:
            column = self._typed_column(schema, name, position)
        schema.columns.append(self._with_position(column))

    def _typed_column(self, schema: _Schema, name: str, position: Position) -> ColumnDefinition:
        if self.at("INTERVAL"):
            # A type of values, and of no column.
            self.reject_pair(self.token, self.ahead())
        data_type = self.data_type()
        if self.accept("METADATA"):
            key = self.string() if self.accept("FROM") else None
            is_virtual = self.accept("VIRTUAL")
            return ColumnDefinition(
                name, data_type, None, True, key, is_virtual, comment=self.comment(), position=position
            )
        if self.at_any("CONSTRAINT", "PRIMARY", "UNIQUE"):
            key_name = self.identifier() if self.accept("CONSTRAINT") else ""
            self._key_words()
            self._enforcement(is_primary=True)
            self._set_key(schema, (name,), key_name)
            if self.accept("NOT", "NULL"):
                data_type = data_type.not_null()
        return ColumnDefinition(name, data_type, comment=self.comment(), position=position)

    def _with_position(self, column: ColumnDefinition) -> ColumnDefinition:
        if self.accept("FIRST"):
            return replace(column, is_first=True)
        return replace(column, after=self.identifier()) if self.accept("AFTER") else column

    # Clauses behind the columns

    def _distribution(self) -> Distribution:
        kind: Literal["", "hash", "range"] = ""
        columns: tuple[str, ...] = ()
        if self.accept("BY"):
            if self.at_any("HASH", "RANGE"):
                kind = "hash" if self.advance().key == "HASH" else "range"
            columns = self.names()
        elif not self.at("INTO"):
            self.reject()
        buckets = None
        if self.accept("INTO"):
            buckets = self.whole_number()
            self.expect("BUCKETS")
        return Distribution(kind, columns, buckets)

    def _like_clause(self) -> LikeClause:
        source = self.path()
        if not self.accept("("):
            return LikeClause(source)
        features: list[tuple[str, str]] = []
        while not features or not self.at(")"):
            action = self.expect_any("INCLUDING", "EXCLUDING", "OVERWRITING")
            features.append((action.lower(), self.expect_any(*_LIKE_FEATURES).lower()))
        self.expect(")")
        return LikeClause(source, tuple(features))

    def partition(self) -> Partition:
        """(a = 'x', b = 1)."""
        return self.in_parentheses(self._partition_column)

    def _partition_column(self) -> tuple[str, Expression]:
        name = self.identifier()
        self.expect("=")
        return name, self.expression()

    # ALTER TABLE

    def alter_table(self, position: Position) -> Statement:
        """The statement behind its words ALTER TABLE."""
        if_exists = self.if_exists()
        path = self.path()
        change = self._change(path)
        return replace(change, if_exists=if_exists, position=position)

    def _change(self, path: tuple[str, ...]) -> AlterTable:
        word = self.expect_any("RENAME", "SET", "RESET", "ADD", "MODIFY", "DROP")
        if word == "RENAME":
            return self._rename(path)
        if word == "SET":
            return AlterTable(path, "set", options=self.options())
        if word == "RESET":
            return AlterTable(path, "reset", keys=self.in_parentheses(self.string))
        return self._drop(path) if word == "DROP" else self._add_or_modify(path, word)

    def _rename(self, path: tuple[str, ...]) -> AlterTable:
        if self.accept("TO"):
            return AlterTable(path, "rename", new_path=self.path())
        column = ".".join(self.path())
        self.expect("TO")
        return AlterTable(path, "rename column", column=column, new_column=self.identifier())

    def _add_or_modify(self, path: tuple[str, ...], word: str) -> AlterTable:
        action: Literal["add", "modify"] = "add" if word == "ADD" else "modify"
        if action == "add" and (self.at("PARTITION") or self.at("IF")):
            return self._add_partitions(path)
        if self.accept("DISTRIBUTION"):
            return AlterTable(path, action, distribution=self._distribution(), what="distribution")
        schema = _Schema()
        if self.at("("):
            schema = self._schema()
        else:
            self._schema_item(schema)
        return AlterTable(
            path,
            action,
            columns=tuple(schema.columns),
            watermark=schema.watermark,
            primary_key=schema.primary_key,
            primary_key_name=schema.primary_key_name,
            what="schema",
        )

    def _add_partitions(self, path: tuple[str, ...]) -> AlterTable:
        ignores = self.if_not_exists()
        partitions: list[Partition] = []
        while not partitions or self.at("PARTITION"):
            self.expect("PARTITION")
            partitions.append(self.partition())
        return AlterTable(path, "add", partitions=tuple(partitions), what="partitions", ignores_partitions=ignores)

    def _drop(self, path: tuple[str, ...]) -> AlterTable:
        if self.accept("PRIMARY", "KEY"):
            return AlterTable(path, "drop", what="primary key")
        if self.accept("CONSTRAINT"):
            return AlterTable(path, "drop", keys=(self.identifier(),), what="constraint")
        if self.accept("WATERMARK"):
            return AlterTable(path, "drop", what="watermark")
        if self.accept("DISTRIBUTION"):
            return AlterTable(path, "drop", what="distribution")
        if self.at("PARTITION") or self.at("IF", "EXISTS"):
            return self._drop_partitions(path)
        columns = self.names() if self.at("(") else (".".join(self.path()),)
        return AlterTable(path, "drop", keys=columns, what="columns")

    def _drop_partitions(self, path: tuple[str, ...]) -> AlterTable:
        ignores = self.if_exists()
        self.expect("PARTITION")
        partitions = [self.partition()]
        while self.accept(","):
            self.expect("PARTITION")
            partitions.append(self.partition())
        return AlterTable(path, "drop", partitions=tuple(partitions), what="partitions", ignores_partitions=ignores)
