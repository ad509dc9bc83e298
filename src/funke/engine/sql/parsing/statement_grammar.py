"""Statements: INSERT, EXPLAIN, SHOW, SET and all others; and the way in, from a text to what it says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from funke.engine.errors import UnsupportedFeatureError
from funke.engine.sql.parsing.object_grammar import ObjectGrammar
from funke.engine.sql.syntax.expressions import Expression
from funke.engine.sql.syntax.position import Position
from funke.engine.sql.syntax.statements import (
    CompilePlan,
    Describe,
    DescribeJob,
    ExecutePlan,
    Explain,
    Insert,
    LoadModule,
    QueryStatement,
    Reset,
    Set,
    Show,
    Statement,
    StatementSet,
    StopJob,
    UnloadModule,
    Use,
    UseModules,
)
from funke.engine.types.logical.data_type import DataType

__all__ = ["parse", "parse_expression", "parse_type"]

_DETAILS = ("ESTIMATED_COST", "CHANGELOG_MODE", "PLAN_ADVICE", "JSON_EXECUTION_PLAN")
# Flink statements that are parsed and not executed.
_UNSUPPORTED = ("DELETE", "UPDATE", "CALL", "ANALYZE", "TRUNCATE", "ADD", "REMOVE")


def parse(text: str) -> list[Statement]:
    """The statements of a text, with semicolons between them.

    >>> parse("SELECT 1; USE d")[1]
    Use(path=('d',), is_catalog=False)
    """
    return StatementGrammar(text).statements()


def parse_expression(text: str) -> Expression:
    """The expression that is the whole text."""
    grammar = StatementGrammar(text)
    expression = grammar.expression()
    grammar.expect("<EOF>")
    return expression


def parse_type(text: str) -> DataType:
    """The type that is the whole text: INT NOT NULL."""
    grammar = StatementGrammar(text)
    data_type = grammar.data_type()
    grammar.expect("<EOF>")
    return data_type


class StatementGrammar(ObjectGrammar):
    def statements(self) -> list[Statement]:
        """All statements up to the end."""
        parsed = []
        while self.accept(";"):
            pass
        while not self.at("<EOF>"):
            first = self.token
            read = self.statement()
            parsed.append(read if read.written else replace(read, written=self.since(first)))
            if not self.at("<EOF>"):
                self.expect(";")
            while self.accept(";"):
                pass
        return parsed

    def statement(self) -> Statement:
        key = self.token.key
        read = _STATEMENTS.get(key)
        if read is not None:
            return read(self)
        if key in _UNSUPPORTED and self.ahead().kind in ("word", "quoted"):
            raise UnsupportedFeatureError(f"{key} in SQL")
        if self.at_identifier():
            self.fail_at(self.position(), "Non-query expression encountered in illegal context")
        return self._query_statement() if self.starts_query() else self.reject_word()

    def _query_statement(self) -> Statement:
        position, first = self.position(), self.token
        return QueryStatement(self.query(), position=position, written=self.since(first))

    # INSERT

    def _insert(self) -> Insert:
        position, first = self.position(), self.token
        self.expect("INSERT")
        is_overwrite = self.expect_any("INTO", "OVERWRITE") == "OVERWRITE"
        path, options = self.path(), self.option_hints()
        partition = self.partition() if self.accept("PARTITION") else ()
        # INSERT INTO t (a, b) SELECT … names columns, INSERT INTO t (SELECT …) has a query in parentheses.
        has_columns = self.at("(") and not self.starts_query()
        columns, positions = self._target_columns() if has_columns else ((), ())
        query = self.query()
        on_conflict = None
        if self.accept("ON"):
            self.expect("CONFLICT", "DO")
            on_conflict = self.expect_any("ERROR", "NOTHING", "DEDUPLICATE").lower()
        written = self.since(first)
        return Insert(
            path,
            query,
            columns,
            partition,
            is_overwrite,
            options,
            on_conflict,
            column_positions=positions,
            position=position,
            written=written,
        )

    def _target_columns(self) -> tuple[tuple[str, ...], tuple[Position, ...]]:
        columns = self.in_parentheses(lambda: (self.identifier(), self.span(self.position(self.before()))))
        return tuple(name for name, _ in columns), tuple(position for _, position in columns)

    def _execute(self) -> Statement:
        """EXECUTE STATEMENT SET BEGIN … END, or EXECUTE before an INSERT or a query."""
        if self.ahead().key == "STATEMENT":
            position = self.position()
            self.advance()
            return self._statement_set(position)
        self.advance()
        if self.at("PLAN"):
            position = self.position()
            self.advance()
            return ExecutePlan(self.string(), position=position)
        return self._insert() if self.at("INSERT") else self._query_statement()

    def _compile(self) -> Statement:
        position = self.position()
        self.expect("COMPILE")
        is_executed = self.accept("AND", "EXECUTE")
        self.expect("PLAN")
        file = self.string()
        # What is run is compiled only if there is no plan yet.
        ignores_existing = is_executed or self.accept("IF", "NOT", "EXISTS")
        self.expect("FOR")
        inserts = self._statement_set(position).inserts if self.at("STATEMENT") else (self._insert(),)
        return CompilePlan(file, inserts, ignores_existing, is_executed, position=position)

    def _statement_set(self, position: Position) -> StatementSet:
        self.expect("STATEMENT", "SET", "BEGIN")
        return StatementSet(self._inserts(), position=position)

    def _begin(self) -> Statement:
        """BEGIN STATEMENT SET; … END."""
        position = self.position()
        self.expect("BEGIN", "STATEMENT", "SET", ";")
        return StatementSet(self._inserts(), position=position)

    def _inserts(self) -> tuple[Insert, ...]:
        inserts: list[Insert] = []
        while not inserts or not self.at("END"):
            inserts.append(self._insert())
            self.expect(";")
        self.expect("END")
        return tuple(inserts)

    # EXPLAIN, DESCRIBE, SHOW

    def _explain(self) -> Statement:
        position = self.position()
        self.expect("EXPLAIN")
        details: tuple[str, ...] = ()
        if self.accept("PLAN"):
            self.expect("FOR")
        elif self.at_any(*_DETAILS):
            details = self.separated(lambda: self.expect_any(*_DETAILS))
            if len(set(details)) < len(details):
                self.fail("Duplicate EXPLAIN DETAIL is not allowed.", self.before())
        if self.at("STATEMENT"):
            return Explain(self._statement_set(self.position()), details, position=position)
        if self.at("EXECUTE"):
            return Explain(self._execute(), details, position=position)
        statement = self._insert() if self.at("INSERT") else self._explained()
        return Explain(statement, details, position=position)

    def _explained(self) -> Statement:
        return self.create() if self.at("CREATE") else self._query_statement()

    def _describe(self) -> Statement:
        position = self.position()
        self.advance()
        if self.at("JOB") and self.ahead().kind == "string":
            self.advance()
            return DescribeJob(self.string(), position=position)
        kind = "table"
        if self.at_any("CATALOG", "DATABASE", "FUNCTION", "TABLE") and self.ahead().kind in ("word", "quoted"):
            kind = self.advance().key.lower()
        is_extended = self.accept("EXTENDED")
        return Describe(self.path(), kind, is_extended, position=position)

    def _stop(self) -> Statement:
        position = self.position()
        self.expect("STOP", "JOB")
        job_id = self.string()
        has_savepoint = self.accept("WITH", "SAVEPOINT")
        return StopJob(job_id, has_savepoint, self.accept("WITH", "DRAIN"), position=position)

    def _show(self) -> Statement:
        position = self.position()
        self.expect("SHOW")
        what = self._listed_kind()
        path: tuple[str, ...] = ()
        if what.startswith("create ") or what == "partitions":
            path = self.path()
        elif what == "columns":
            self.expect_any("FROM", "IN")
            path = self.path()
        elif what in _LISTED_IN and self.accept_any("FROM", "IN"):
            path = self.path()
        partition = self.partition() if what == "partitions" and self.accept("PARTITION") else ()
        pattern, is_negated, ignores_case = self._like_pattern() if what in _LISTED_LIKE else (None, False, False)
        return Show(what, path, pattern, is_negated, ignores_case, partition, position=position)

    def _listed_kind(self) -> str:
        """The objects that SHOW lists, in lower case."""
        for words in _LISTED:
            if self.accept(*words):
                return " ".join(words).lower()
        for words in _LISTED_UNSUPPORTED:
            if self.at(*words):
                raise UnsupportedFeatureError(f"SHOW {' '.join(words)} in SQL")
        # The word that no form goes on with.
        if self.at_any("CREATE", "CURRENT", "USER", "FULL"):
            self.advance()
            self.reject()
        self.reject_pair(self.before(), self.token)

    def _like_pattern(self) -> tuple[str | None, bool, bool]:
        is_negated = self.accept("NOT")
        word = self.expect_any("LIKE", "ILIKE") if is_negated else self.accept_any("LIKE", "ILIKE")
        return (self.string(), is_negated, word == "ILIKE") if word else (None, False, False)

    # USE, modules, SET

    def _use(self) -> Statement:
        position = self.position()
        self.expect("USE")
        if self.accept("CATALOG"):
            return Use((self.identifier(),), True, position=position)
        if self.accept("MODULES"):
            return UseModules(self.separated(self.identifier), position=position)
        return Use(self.behind(self.before(), self.path), position=position)

    def _load(self) -> Statement:
        position = self.position()
        self.expect("LOAD", "MODULE")
        name = self.identifier()
        return LoadModule(name, self.options() if self.accept("WITH") else (), position=position)

    def _unload(self) -> Statement:
        position = self.position()
        self.expect("UNLOAD", "MODULE")
        return UnloadModule(self.identifier(), position=position)

    def _set(self) -> Statement:
        position = self.position()
        self.expect("SET")
        if self.token.kind != "string":
            return Set(position=position)
        key = self.string()
        self.expect("=")
        return Set(key, self.string(), position=position)

    def _reset(self) -> Statement:
        position = self.position()
        self.expect("RESET")
        return Reset(self.string() if self.token.kind == "string" else None, position=position)


_LISTED = (
    ("CATALOGS",),
    ("CURRENT", "CATALOG"),
    ("DATABASES",),
    ("CURRENT", "DATABASE"),
    ("TABLES",),
    ("VIEWS",),
    ("FUNCTIONS",),
    ("USER", "FUNCTIONS"),
    ("MODULES",),
    ("FULL", "MODULES"),
    ("COLUMNS",),
    ("PARTITIONS",),
    ("CREATE", "TABLE"),
    ("CREATE", "VIEW"),
    ("CREATE", "CATALOG"),
    ("PROCEDURES",),
    ("JARS",),
    ("JOBS",),
)
_LISTED_UNSUPPORTED = (("MODELS",), ("MATERIALIZED", "TABLES"), ("CREATE", "MODEL"), ("CREATE", "MATERIALIZED"))
_LISTED_IN = ("databases", "tables", "views", "functions", "user functions", "procedures")
_LISTED_LIKE = ("catalogs", *_LISTED_IN, "columns")
_STATEMENTS: dict[str, Callable[[StatementGrammar], Statement]] = {
    "CREATE": StatementGrammar.create,
    "REPLACE": StatementGrammar.replace_table,
    "ALTER": StatementGrammar.alter,
    "DROP": StatementGrammar.drop,
    "INSERT": StatementGrammar._insert,
    "EXECUTE": StatementGrammar._execute,
    "BEGIN": StatementGrammar._begin,
    "COMPILE": StatementGrammar._compile,
    "EXPLAIN": StatementGrammar._explain,
    "DESCRIBE": StatementGrammar._describe,
    "DESC": StatementGrammar._describe,
    "SHOW": StatementGrammar._show,
    "STOP": StatementGrammar._stop,
    "USE": StatementGrammar._use,
    "LOAD": StatementGrammar._load,
    "UNLOAD": StatementGrammar._unload,
    "SET": StatementGrammar._set,
    "RESET": StatementGrammar._reset,
}
