"""What an environment of tables is to write, and where."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from funke.engine.errors import ConfigurationError, at_user_line
from funke.engine.flink_exceptions import TableException, ValidationException
from funke.engine.sql.catalog.objects import CatalogTable, CatalogView
from funke.engine.sql.parsing import parse
from funke.engine.sql.statements.outcome import InsertPlan
from funke.engine.sql.statements.plans.insert_plans import plan_insert, plan_rows
from funke.engine.sql.statements.view_statements import schema_of_relation
from funke.engine.sql.syntax import statements as syntax
from funke.engine.sql.syntax.path_text import parse_path
from funke.table.table_descriptor import TableDescriptor

if TYPE_CHECKING:
    from funke.engine.sql.statements.table_session import TableSession
    from funke.table.table import Table
    from funke.table.table_config import TableConfig

__all__ = ["PlannedInserts"]


class PlannedInserts:
    """The part of an environment that knows which rows go to which table."""

    _config: TableConfig
    _session: TableSession

    def _single_statement(self, text: str) -> syntax.Statement:
        """The statement of a text that has just one."""
        self._config._require_parser()
        statements = parse(text)
        if len(statements) != 1:
            raise ConfigurationError(at_user_line("only single statement supported"))
        return statements[0]

    def _insert_plan(self, stmt: str) -> InsertPlan:
        statement = self._single_statement(stmt)
        if not isinstance(statement, syntax.Insert):
            raise TableException("Only insert statement is supported now.")
        return plan_insert(self._session, statement)

    def _rows_plan(self, table: Table, target: str | TableDescriptor, overwrite: bool) -> InsertPlan:
        if isinstance(target, TableDescriptor):
            declared = target._to_catalog_table()
            if not declared.schema.columns:
                columns = schema_of_relation(table._relation)
                declared = CatalogTable(columns, declared.options, declared.partition_keys, declared.comment)
            return plan_rows(self._session, None, declared, table._relation, is_overwrite=overwrite)
        identifier = self._session.catalogs.qualify(parse_path(target))
        catalog_table = self._session.catalogs.get(identifier)
        if isinstance(catalog_table, CatalogView):
            raise ValidationException(f"the view {identifier} cannot be written to")
        plan = plan_rows(self._session, identifier, catalog_table, table._relation, is_overwrite=overwrite)
        return replace(plan, query=table._query, is_overwrite=overwrite)
