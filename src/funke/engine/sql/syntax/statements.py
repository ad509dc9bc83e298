"""Statements as they were written; a text may hold several."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from funke.engine.sql.syntax.expressions import Expression
from funke.engine.sql.syntax.position import Position
from funke.engine.sql.syntax.queries import Query

if TYPE_CHECKING:
    from funke.engine.types.logical.data_type import DataType

__all__ = [
    "AlterCatalog",
    "AlterDatabase",
    "AlterFunction",
    "AlterTable",
    "AlterView",
    "ColumnDefinition",
    "CreateCatalog",
    "CreateDatabase",
    "CreateFunction",
    "CreateTable",
    "CreateView",
    "Describe",
    "DescribeJob",
    "Distribution",
    "DropObject",
    "Explain",
    "Insert",
    "LikeClause",
    "LoadModule",
    "QueryStatement",
    "Reset",
    "Set",
    "Show",
    "Statement",
    "StatementSet",
    "StopJob",
    "UnloadModule",
    "Use",
    "UseModules",
    "WatermarkDefinition",
]

Path = tuple[str, ...]
Options = tuple[tuple[str, str], ...]
# PARTITION (a = 'x', b = 1)
Partition = tuple[tuple[str, Expression], ...]


@dataclass(frozen=True)
class Statement:
    """Base of all statements."""

    position: Position | None = field(default=None, kw_only=True, compare=False, repr=False)
    # As it was written, where statements are the parts of a text.
    written: str = field(default="", kw_only=True, compare=False, repr=False)


@dataclass(frozen=True)
class ColumnDefinition:
    """A physical column (type), a computed one (expression) or one of metadata (key, by default the column's name).

    CREATE TABLE t (a, b) AS … has columns with a name only. ALTER TABLE says where a column goes.
    """

    name: str
    type: DataType | None = None
    expression: Expression | None = None
    is_metadata: bool = False
    metadata_key: str | None = None
    is_virtual: bool = False
    comment: str | None = None
    is_first: bool = False
    after: str | None = None
    position: Position | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class WatermarkDefinition:
    """WATERMARK FOR column AS expression."""

    column: Path
    expression: Expression


@dataclass(frozen=True)
class Distribution:
    """DISTRIBUTED BY [HASH | RANGE] (columns) INTO n BUCKETS."""

    kind: Literal["", "hash", "range"] = ""
    columns: tuple[str, ...] = ()
    buckets: int | None = None


@dataclass(frozen=True)
class LikeClause:
    """LIKE source (INCLUDING ALL, OVERWRITING OPTIONS …)."""

    source: Path
    # ("including" | "excluding" | "overwriting", "all" | "options" | "constraints" | …)
    features: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class CreateTable(Statement):
    """CREATE [TEMPORARY] TABLE; with a query it is CREATE TABLE AS, which may also replace a table."""

    path: Path
    columns: tuple[ColumnDefinition, ...] = ()
    watermark: WatermarkDefinition | None = None
    primary_key: tuple[str, ...] = ()
    primary_key_name: str = field(default="", kw_only=True)
    distribution: Distribution | None = None
    partitioned_by: tuple[str, ...] = ()
    options: Options = ()
    comment: str | None = None
    like: LikeClause | None = None
    query: Query | None = None
    is_temporary: bool = False
    if_not_exists: bool = False
    mode: Literal["create", "replace", "create or replace"] = "create"
    # The query as it was written.
    query_text: str = field(default="", kw_only=True, compare=False, repr=False)


@dataclass(frozen=True)
class CreateView(Statement):
    """CREATE [TEMPORARY] VIEW; the text of its query is kept for SHOW CREATE VIEW."""

    path: Path
    query: Query
    text: str
    columns: tuple[str, ...] = ()
    comment: str | None = None
    is_temporary: bool = False
    if_not_exists: bool = False


@dataclass(frozen=True)
class CreateDatabase(Statement):
    path: Path
    options: Options = ()
    comment: str | None = None
    if_not_exists: bool = False


@dataclass(frozen=True)
class CreateCatalog(Statement):
    name: str
    options: Options = ()
    comment: str | None = None
    if_not_exists: bool = False


@dataclass(frozen=True)
class CreateFunction(Statement):
    """CREATE [TEMPORARY [SYSTEM]] FUNCTION path AS 'identifier' [LANGUAGE …] [USING JAR '…', …] [WITH (…)]."""

    path: Path
    identifier: str
    language: str = "JAVA"
    resources: tuple[str, ...] = ()
    options: Options = ()
    is_temporary: bool = False
    is_system: bool = False
    if_not_exists: bool = False


@dataclass(frozen=True)
class AlterTable(Statement):
    """One change of a table: `action` says which, the rest holds what it needs."""

    path: Path
    action: Literal["rename", "set", "reset", "add", "modify", "drop", "rename column"]
    new_path: Path = ()
    options: Options = ()
    keys: tuple[str, ...] = ()
    columns: tuple[ColumnDefinition, ...] = ()
    watermark: WatermarkDefinition | None = None
    primary_key: tuple[str, ...] = ()
    primary_key_name: str = field(default="", kw_only=True)
    distribution: Distribution | None = None
    partitions: tuple[Partition, ...] = ()
    # For "drop": "columns" (`keys` has them), "primary key", "constraint" (`keys` has its name), "watermark",
    # "distribution", "partitions"; for "add": "schema" or "partitions".
    what: str = ""
    column: str = ""
    new_column: str = ""
    if_exists: bool = False
    # Of ADD IF NOT EXISTS PARTITION and DROP IF EXISTS PARTITION.
    ignores_partitions: bool = False


@dataclass(frozen=True)
class AlterView(Statement):
    path: Path
    new_path: Path = ()
    query: Query | None = None
    text: str = ""


@dataclass(frozen=True)
class AlterCatalog(Statement):
    """ALTER CATALOG name SET (…) | RESET ('key', …) | COMMENT '…'."""

    name: str
    options: Options = ()
    keys: tuple[str, ...] = ()
    comment: str | None = None


@dataclass(frozen=True)
class AlterDatabase(Statement):
    path: Path
    options: Options = ()


@dataclass(frozen=True)
class AlterFunction(Statement):
    path: Path
    identifier: str
    language: str = "JAVA"
    is_temporary: bool = False
    is_system: bool = False
    if_exists: bool = False


@dataclass(frozen=True)
class DropObject(Statement):
    """DROP TABLE, VIEW, DATABASE, CATALOG, FUNCTION."""

    kind: Literal["table", "view", "database", "catalog", "function"]
    path: Path
    if_exists: bool = False
    is_temporary: bool = False
    is_system: bool = False
    is_cascade: bool = False


@dataclass(frozen=True)
class Insert(Statement):
    """INSERT INTO | OVERWRITE path [PARTITION (…)] [(columns)] query [ON CONFLICT DO …]."""

    path: Path
    query: Query
    columns: tuple[str, ...] = ()
    partition: Partition = ()
    is_overwrite: bool = False
    options: Options = ()
    # "error", "nothing" or "deduplicate"
    on_conflict: str | None = None
    column_positions: tuple[Position, ...] = field(default=(), kw_only=True, compare=False, repr=False)

    def position_of(self, column: int) -> Position | None:
        """The position of a target column; of the statement if it names none."""
        return self.column_positions[column] if column < len(self.column_positions) else self.position


@dataclass(frozen=True)
class StatementSet(Statement):
    """EXECUTE STATEMENT SET BEGIN …; … END."""

    inserts: tuple[Insert, ...]


@dataclass(frozen=True)
class CompilePlan(Statement):
    """COMPILE [AND EXECUTE] PLAN 'file' [IF NOT EXISTS] FOR INSERT … | STATEMENT SET BEGIN …; … END."""

    file: str
    inserts: tuple[Insert, ...]
    ignores_existing: bool = False
    is_executed: bool = False


@dataclass(frozen=True)
class ExecutePlan(Statement):
    """EXECUTE PLAN 'file'."""

    file: str


@dataclass(frozen=True)
class QueryStatement(Statement):
    """A query by itself."""

    query: Query


@dataclass(frozen=True)
class Explain(Statement):
    """EXPLAIN [ESTIMATED_COST, CHANGELOG_MODE, JSON_EXECUTION_PLAN] statement."""

    statement: Statement
    details: tuple[str, ...] = ()


@dataclass(frozen=True)
class Describe(Statement):
    """DESCRIBE [TABLE|CATALOG|DATABASE|FUNCTION] path."""

    path: Path
    kind: str = "table"
    is_extended: bool = False


@dataclass(frozen=True)
class DescribeJob(Statement):
    """DESCRIBE JOB 'id'."""

    job_id: str


@dataclass(frozen=True)
class StopJob(Statement):
    """STOP JOB 'id' [WITH SAVEPOINT] [WITH DRAIN]."""

    job_id: str
    has_savepoint: bool = False
    is_drained: bool = False


@dataclass(frozen=True)
class Show(Statement):
    """SHOW what [FROM path] [[NOT] LIKE pattern]; `what` as in the text, in lower case: "tables", "create table"."""

    what: str
    path: Path = ()
    pattern: str | None = None
    is_negated: bool = False
    # ILIKE
    ignores_case: bool = False
    partition: Partition = ()


@dataclass(frozen=True)
class Use(Statement):
    """USE [CATALOG] path."""

    path: Path
    is_catalog: bool = False


@dataclass(frozen=True)
class UseModules(Statement):
    names: tuple[str, ...]


@dataclass(frozen=True)
class LoadModule(Statement):
    name: str
    options: Options = ()


@dataclass(frozen=True)
class UnloadModule(Statement):
    name: str


@dataclass(frozen=True)
class Set(Statement):
    """SET ['key' = 'value']; without a key it shows all."""

    key: str | None = None
    value: str | None = None


@dataclass(frozen=True)
class Reset(Statement):
    """RESET ['key']."""

    key: str | None = None
