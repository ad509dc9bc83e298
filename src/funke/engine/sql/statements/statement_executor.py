"""Executes statements: each class of statements has its function."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from funke.engine.errors import UnsupportedFeatureError
from funke.engine.sql.statements import catalog_statements, function_statements, table_statements, view_statements
from funke.engine.sql.statements.descriptions import describe
from funke.engine.sql.statements.listings import show
from funke.engine.sql.statements.outcome import OK, Inserts, Outcome, QueryRows, StatementResult, listing
from funke.engine.sql.statements.plans.explanations import explain_statement
from funke.engine.sql.statements.plans.insert_plans import plan_insert
from funke.engine.sql.statements.plans.stored_plans import StoredPlan
from funke.engine.sql.statements.table_session import TableSession
from funke.engine.sql.syntax import statements as syntax

__all__ = ["execute_statement"]


def execute_statement(session: TableSession, statement: syntax.Statement) -> StatementResult:
    """Do what a statement says, or plan what a job has to do."""
    execute = _EXECUTED.get(type(statement))
    if execute is None:
        raise UnsupportedFeatureError(f"the statement {type(statement).__name__}")
    return execute(session, statement)


def _query(session: TableSession, statement: syntax.QueryStatement) -> QueryRows:
    return QueryRows(session.bind(statement.query), statement.written)


def _insert(session: TableSession, statement: syntax.Insert) -> Inserts:
    return Inserts((plan_insert(session, statement),))


def _statement_set(session: TableSession, statement: syntax.StatementSet) -> Inserts:
    return Inserts(tuple(plan_insert(session, each) for each in statement.inserts))


def _compile_plan(session: TableSession, statement: syntax.CompilePlan) -> StatementResult:
    file = Path(statement.file)
    # A plan that exists wins over the statement: COMPILE AND EXECUTE PLAN then runs what is in the file.
    if not (statement.ignores_existing and file.exists()):
        StoredPlan.of(session, statement.inserts).write(file)
    return Inserts(StoredPlan.read(file).inserts(session)) if statement.is_executed else OK


def _execute_plan(session: TableSession, statement: syntax.ExecutePlan) -> Inserts:
    return Inserts(StoredPlan.read(Path(statement.file)).inserts(session))


def _job_statement(session: TableSession, statement: syntax.DescribeJob | syntax.StopJob) -> Outcome:
    kind = "DESCRIBE JOB" if isinstance(statement, syntax.DescribeJob) else "STOP JOB"
    raise UnsupportedFeatureError(f"{kind} in a program", "`funke sql` and the SQL gateway have it")


def _set(session: TableSession, statement: syntax.Set) -> Outcome:
    if statement.key is None:
        return listing(sorted(session.settings.to_map().items()), "key", "value")
    session.settings.set(statement.key, statement.value or "")
    return OK


def _reset(session: TableSession, statement: syntax.Reset) -> Outcome:
    session.settings.reset(statement.key)
    return OK


def _use(session: TableSession, statement: syntax.Use) -> Outcome:
    if statement.is_catalog:
        session.catalogs.use_catalog(statement.path[-1])
        return OK
    if len(statement.path) > 1:
        session.catalogs.use_catalog(statement.path[0])
    session.catalogs.use_database(statement.path[-1])
    return OK


def _use_modules(session: TableSession, statement: syntax.UseModules) -> Outcome:
    session.modules.use(statement.names)
    return OK


def _load_module(session: TableSession, statement: syntax.LoadModule) -> Outcome:
    if statement.name != "core":
        raise UnsupportedFeatureError(
            f"LOAD MODULE {statement.name}", "Flink modules are Java classes; use TableEnvironment.load_module"
        )
    session.modules.load(statement.name, None)
    return OK


def _unload_module(session: TableSession, statement: syntax.UnloadModule) -> Outcome:
    session.modules.unload(statement.name)
    return OK


_EXECUTED: dict[type[syntax.Statement], Callable[[TableSession, Any], StatementResult]] = {
    syntax.QueryStatement: _query,
    syntax.Insert: _insert,
    syntax.StatementSet: _statement_set,
    syntax.CompilePlan: _compile_plan,
    syntax.ExecutePlan: _execute_plan,
    syntax.Explain: explain_statement,
    syntax.Describe: describe,
    syntax.Show: show,
    syntax.DescribeJob: _job_statement,
    syntax.StopJob: _job_statement,
    syntax.CreateTable: table_statements.create_table,
    syntax.AlterTable: table_statements.alter_table,
    syntax.CreateView: view_statements.create_view,
    syntax.AlterView: view_statements.alter_view,
    syntax.CreateDatabase: catalog_statements.create_database,
    syntax.AlterDatabase: catalog_statements.alter_database,
    syntax.CreateCatalog: catalog_statements.create_catalog,
    syntax.AlterCatalog: catalog_statements.alter_catalog,
    syntax.CreateFunction: function_statements.create_function,
    syntax.AlterFunction: function_statements.alter_function,
    syntax.DropObject: catalog_statements.drop_object,
    syntax.Set: _set,
    syntax.Reset: _reset,
    syntax.Use: _use,
    syntax.UseModules: _use_modules,
    syntax.LoadModule: _load_module,
    syntax.UnloadModule: _unload_module,
}
