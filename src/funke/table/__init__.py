"""The Table API and SQL."""

from __future__ import annotations

from funke.table.changelog_mode import ChangelogMode
from funke.table.compiled_plan import CompiledPlan
from funke.table.data_view import DataView, ListView, MapView
from funke.table.environment_settings import EnvironmentSettings
from funke.table.environments.batch_table_environment import BatchTableEnvironment
from funke.table.environments.stream_table_environment import StreamTableEnvironment
from funke.table.explain_detail import ExplainDetail
from funke.table.expression import Expression
from funke.table.module import Module, ModuleEntry
from funke.table.plan_reference import PlanReference
from funke.table.result_kind import ResultKind
from funke.table.schema import Schema
from funke.table.sinks import CsvTableSink, TableSink, WriteMode
from funke.table.sources import CsvTableSource, TableSource
from funke.table.sql_dialect import SqlDialect
from funke.table.statement_set import StatementSet
from funke.table.table import GroupedTable, GroupWindowedTable, OverWindowedTable, Table, WindowGroupedTable
from funke.table.table_config import TableConfig
from funke.table.table_descriptor import FormatDescriptor, TableDescriptor
from funke.table.table_environment import TableEnvironment
from funke.table.table_pipeline import TablePipeline
from funke.table.table_result import TableResult
from funke.table.table_schema import TableSchema
from funke.table.types import DataTypes, Row, RowKind, UserDefinedType
from funke.table.udf import (
    AggregateFunction,
    AsyncScalarFunction,
    FunctionContext,
    ScalarFunction,
    TableAggregateFunction,
    TableFunction,
)

__all__ = [
    "TableEnvironment",
    "StreamTableEnvironment",
    "Table",
    "StatementSet",
    "EnvironmentSettings",
    "TableConfig",
    "GroupedTable",
    "GroupWindowedTable",
    "OverWindowedTable",
    "WindowGroupedTable",
    "ScalarFunction",
    "TableFunction",
    "AggregateFunction",
    "TableAggregateFunction",
    "AsyncScalarFunction",
    "FunctionContext",
    "DataView",
    "ListView",
    "MapView",
    "TableDescriptor",
    "FormatDescriptor",
    "Schema",
    "Module",
    "ModuleEntry",
    "SqlDialect",
    "DataTypes",
    "UserDefinedType",
    "Expression",
    "TableSchema",
    "TableResult",
    "Row",
    "RowKind",
    "ChangelogMode",
    "ExplainDetail",
    "ResultKind",
    "CompiledPlan",
    "PlanReference",
    "TablePipeline",
    "BatchTableEnvironment",
    "CsvTableSink",
    "CsvTableSource",
    "TableSink",
    "TableSource",
    "WriteMode",
]
