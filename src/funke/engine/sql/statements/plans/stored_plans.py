"""Plans that are stored and run later: statements, with the tables and views that they name.

A plan holds what a statement means as SQL, not what operators it becomes: state is found again by ids that come from
the query. Temporary objects, functions, and tables whose options have secrets are not in it: they must be there when it
runs.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from funke.engine.config.secret_keys import masked
from funke.engine.errors import FunkeError, UnsupportedFeatureError
from funke.engine.flink_exceptions import TableException, ValidationException
from funke.engine.sql.catalog.objects import CatalogView, Identifier
from funke.engine.sql.parsing import parse
from funke.engine.sql.statements.created_again import create_table_text, create_view_text
from funke.engine.sql.statements.outcome import InsertPlan
from funke.engine.sql.statements.plans.insert_plans import plan_insert
from funke.engine.sql.statements.plans.job_plans import planned_inserts
from funke.engine.sql.statements.table_session import TableSession
from funke.engine.sql.statements.table_statements import create_table
from funke.engine.sql.statements.view_statements import create_view
from funke.engine.sql.syntax import statements as syntax
from funke.engine.sql.syntax.path_text import parse_path
from funke.engine.sql.syntax.queries import TableRef
from funke.engine.sql.syntax.query_form import query_form

__all__ = ["FLINK_VERSION", "StoredPlan", "insert_in", "written_insert"]

# The version whose statements these are.
FLINK_VERSION = "2.3"
_UNSUPPORTED = "Unsupported SQL query! compilePlanSql() only accepts a single SQL statement of type INSERT"


@dataclasses.dataclass(frozen=True)
class StoredPlan:
    """Inserts that one job runs, and the statements that make what they name."""

    catalog: str
    database: str
    statements: tuple[str, ...]
    objects: tuple[tuple[str, str], ...] = ()

    @staticmethod
    def of_text(session: TableSession, text: str) -> StoredPlan:
        """The plan of a statement."""
        (statement,) = parse(text)
        if isinstance(statement, syntax.StatementSet):
            return StoredPlan.of(session, statement.inserts)
        if isinstance(statement, syntax.Insert):
            return StoredPlan.of(session, (statement,))
        raise TableException(_UNSUPPORTED)

    @staticmethod
    def of(session: TableSession, inserts: Sequence[syntax.Insert]) -> StoredPlan:
        """The plan of inserts, which have a meaning now."""
        objects: dict[str, str] = {}
        with _anonymous_tables(session):
            for insert in inserts:
                # A statement that cannot run is rejected now, not when its plan is executed.
                planned_inserts(session, [plan_insert(session, insert)])
                for path in (insert.path, *_paths_in(insert.query)):
                    _add_object(session, path, objects)
        catalogs = session.catalogs
        strings = tuple(each.written for each in inserts)
        return StoredPlan(catalogs.current_catalog, catalogs.current_database, strings, tuple(objects.items()))

    @staticmethod
    def from_json(text: str) -> StoredPlan:
        """The plan that a text holds."""
        try:
            content = json.loads(text)
            return StoredPlan(
                content["catalog"],
                content["database"],
                tuple(map(str, content["statements"])),
                tuple((str(name), str(each)) for name, each in content["objects"].items()),
            )
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise TableException("Failed to deserialize CompiledPlan: it was not compiled by Funke.") from error

    def to_json(self) -> str:
        """The plan as a text."""
        content = {
            "flinkVersion": FLINK_VERSION,
            "catalog": self.catalog,
            "database": self.database,
            "statements": self.statements,
            "objects": dict(self.objects),
        }
        return json.dumps(content, indent=2, ensure_ascii=False)

    @staticmethod
    def read(file: Path) -> StoredPlan:
        """The plan in a file."""
        if not file.exists():
            raise TableException(f"Cannot load the plan file '{file}'. The file does not exist.")
        return StoredPlan.from_json(file.read_text(encoding="utf-8"))

    def write(self, file: Path, ignores_existing: bool = False) -> None:
        """Put the plan into a file; one that is there already is kept, or an error."""
        if file.exists():
            if ignores_existing:
                return
            raise TableException(
                f"Cannot overwrite the plan file '{file}'. Either manually remove the file or, if you're debugging "
                "your job, set the option 'table.plan.force-recompile' to true."
            )
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(self.to_json(), encoding="utf-8")

    def inserts(self, session: TableSession) -> tuple[InsertPlan, ...]:
        """The inserts as a session runs them; its own tables come before those of the plan."""
        with self._in_namespace(session), self._with_objects(session):
            statements = [statement for text in self.statements for statement in parse(text)]
            return tuple(plan_insert(session, each) for each in statements if isinstance(each, syntax.Insert))

    @contextlib.contextmanager
    def _in_namespace(self, session: TableSession) -> Iterator[None]:
        catalogs = session.catalogs
        before = catalogs.current_catalog, catalogs.current_database
        catalogs.use_catalog(self.catalog)
        catalogs.use_database(self.database)
        try:
            yield
        finally:
            catalogs.use_catalog(before[0])
            catalogs.use_database(before[1])

    @contextlib.contextmanager
    def _with_objects(self, session: TableSession) -> Iterator[None]:
        created: list[Identifier] = []
        try:
            for name, text in self.objects:
                if session.catalogs.find(session.catalogs.qualify(parse_path(name))) is None:
                    (statement,) = parse(text)
                    if isinstance(statement, syntax.CreateView):
                        create_view(session, statement)
                    elif isinstance(statement, syntax.CreateTable):
                        create_table(session, statement)
                    created.append(session.catalogs.qualify(parse_path(name)))
            yield
        finally:
            for identifier in created:
                is_view = isinstance(session.catalogs.find(identifier), CatalogView)
                drop = session.catalogs.drop_temporary_view if is_view else session.catalogs.drop_temporary_table
                drop(identifier, True)


def insert_in(text: str) -> syntax.Insert:
    """The only statement of a text."""
    (statement,) = parse(text)
    assert isinstance(statement, syntax.Insert)
    return statement


def written_insert(session: TableSession, plan: InsertPlan) -> str:
    """The statement that does what a plan of the Table API does; one that would do something else is rejected."""
    if plan.query is None or plan.identifier is None:
        raise UnsupportedFeatureError(
            "a stored plan of rows of the program, or into a table without a name",
            "name the tables: create_table(), or INSERT INTO … of views with compile_plan_sql()",
        )
    verb = "INSERT OVERWRITE" if plan.is_overwrite else "INSERT INTO"
    text = f"{verb} {plan.identifier} {query_form(plan.query)}"
    try:
        with _anonymous_tables(session):
            # A plan is stored as SQL: its text must mean exactly what the Table API's calls meant.
            one, other = planned_inserts(session, [plan, plan_insert(session, insert_in(text))])
        is_same = one.relation == other.relation
    except (FunkeError, ValidationException):
        is_same = False
    if not is_same:
        raise UnsupportedFeatureError(
            f"a stored plan of expressions that SQL has no words for ({text})",
            "compile a statement: compile_plan_sql()",
        )
    return text


@contextlib.contextmanager
def _anonymous_tables(session: TableSession) -> Iterator[None]:
    """While a plan is written, tables without a name have one."""
    for identifier, table in session.anonymous_tables.items():
        session.catalogs.create_temporary(identifier, table, True)
    try:
        yield
    finally:
        for identifier in session.anonymous_tables:
            session.catalogs.drop_temporary_table(identifier, True)


def _paths_in(part: Any) -> Iterator[tuple[str, ...]]:
    """The tables that a query names."""
    if isinstance(part, TableRef):
        yield part.path
    if dataclasses.is_dataclass(part) and not isinstance(part, type):
        for each in dataclasses.fields(part):
            yield from _paths_in(getattr(part, each.name))
    elif isinstance(part, (tuple, list)):
        for each in part:
            yield from _paths_in(each)


def _add_object(session: TableSession, path: tuple[str, ...], objects: dict[str, str]) -> None:
    identifier: Identifier = session.catalogs.qualify(path)
    table = session.catalogs.find(identifier)
    name = str(identifier)
    is_kept = not session.catalogs.is_temporary(identifier) or identifier in session.anonymous_tables
    if table is None or not is_kept or name in objects:
        # A name of WITH, or something that has to be there.
        return
    if isinstance(table, CatalogView):
        (statement,) = parse(table.expanded_text or table.text or "")
        for inner in _paths_in(statement):
            _add_object(session, inner, objects)
        objects[name] = create_view_text(identifier, table, is_temporary=True)
    # A table with secrets is not written down: the session that executes the plan must have it.
    elif masked(dict(table.options)) == dict(table.options):
        objects[name] = create_table_text(session, identifier, table, is_temporary=True)
