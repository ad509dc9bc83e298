"""Names of Flink 1.x that a table environment still answers to, and inserts that wait for `execute()`."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from funke.engine.errors import at_user_line
from funke.engine.flink_exceptions import TableException
from funke.engine.sql.statements.plans.insert_plans import plan_insert
from funke.engine.sql.syntax import statements as syntax
from funke.table.descriptors import ConnectorDescriptor, FormatDescriptor, OldCsv, Schema
from funke.table.environments.table_runs import TableRuns
from funke.table.expressions import col
from funke.table.flink_1.old_name_notes import note_old_name
from funke.table.sinks import TableSink
from funke.table.table_descriptor import TableDescriptor

if TYPE_CHECKING:
    from funke.engine.sql.statements.outcome import InsertPlan
    from funke.table.sources import TableSource
    from funke.table.table import Table
    from funke.table.table_pipeline import TablePipeline

__all__ = ["BufferedInserts", "ConnectTableDescriptor", "OldTableNames"]


class BufferedInserts:
    """Inserts that `execute()` of Flink 1.x runs.

    Flink 2 hands out a pipeline for each, which the program runs itself. A program of 1.x keeps none: so
    `env.execute()`, which runs no pipelines in Flink 2, runs those without a holder.
    """

    def __init__(self) -> None:
        self._plans: list[tuple[InsertPlan, Callable[[], TablePipeline | None]]] = []

    def __len__(self) -> int:
        return len(self._plans)

    def add(self, plan: InsertPlan) -> None:
        """Keep an insert that has no pipeline."""
        self._plans.append((plan, lambda: None))

    def add_pipeline(self, pipeline: TablePipeline) -> None:
        """Keep the insert of a pipeline as long as the pipeline does not run."""
        self._plans.append((pipeline._plan, weakref.ref(pipeline)))

    def remove(self, plan: InsertPlan) -> None:
        """Forget an insert that runs otherwise."""
        self._plans = [each for each in self._plans if each[0] is not plan]

    def take(self, with_held: bool) -> tuple[InsertPlan, ...]:
        """Return the inserts and forget them; pipelines that the program holds only if it says so."""
        plans = [plan for plan, pipeline in self._plans if with_held or pipeline() is None]
        for plan in plans:
            self.remove(plan)
        return tuple(plans)


class OldTableNames(TableRuns):
    """The part of an environment that only programs of Flink 1.x call."""

    _buffered: BufferedInserts

    if TYPE_CHECKING:

        def create_temporary_view(self, view_path: str, table_or_data_stream: Any) -> None: ...
        def create_temporary_table(self, path: str, descriptor: TableDescriptor) -> None: ...
        def from_descriptor(self, descriptor: TableDescriptor) -> Table: ...
        def _registered(self, path: tuple[str, ...]) -> Table: ...

    def register_table(self, name: str, table: Table) -> None:
        """Give a table a name."""
        note_old_name("register_table()")
        self.create_temporary_view(name, table)

    def scan(self, *table_path: str) -> Table:
        """Return a table or view of the catalog."""
        note_old_name("scan()")
        return self._registered(table_path)

    def register_table_source(self, name: str, table_source: TableSource) -> None:
        """Give a source a name."""
        note_old_name("register_table_source()")
        self.create_temporary_table(name, table_source._descriptor)

    def from_table_source(self, table_source: TableSource) -> Table:
        """Return the table that a source reads."""
        note_old_name("from_table_source()")
        return self.from_descriptor(table_source._descriptor)

    def register_table_sink(self, name: str, *arguments: Any) -> None:
        """Give a sink a name: `(name, sink)`, or `(name, field_names, field_types, sink)` as in Flink 1.8."""
        note_old_name("register_table_sink()")
        names, types, sink = arguments if len(arguments) == 3 else ([], [], *arguments)
        if not isinstance(sink, TableSink):
            raise TypeError(at_user_line(f"a TableSink is expected, got {type(sink).__name__}"))
        sink._make_room()
        self.create_temporary_table(name, sink._to_descriptor(names, types))

    def connect(self, connector_descriptor: ConnectorDescriptor) -> ConnectTableDescriptor:
        """Begin to describe a table."""
        note_old_name("connect()")
        return ConnectTableDescriptor(self, connector_descriptor)

    def sql_update(self, stmt: str) -> None:
        """Run a statement; an INSERT waits for `execute()`."""
        note_old_name("sql_update()")
        statement = self._single_statement(stmt)
        if isinstance(statement, syntax.Insert):
            self._buffered.add(plan_insert(self._session, statement))
        else:
            self._run(statement)

    def insert_into(self, target_path: str, table: Table) -> None:
        """Say that a table's rows go to another one when `execute()` is called."""
        note_old_name("TableEnvironment.insert_into()")
        table.insert_into(target_path)

    def execute(self, job_name: str = "") -> Any:
        """Run the inserts of `sql_update` and `insert_into`, and wait for their end.

        `Table.insert_into` counts too, unless what it gave was run or put into a StatementSet. Without any insert it
        runs what is in the environment of streams.
        """
        note_old_name("TableEnvironment.execute()")
        plans = self._buffered.take(with_held=True)
        if self._env._builder.pending or not plans:
            # Inserts and streams of one program are one job.
            self._attach_inserts(plans)
            return self._env.execute(job_name or None)
        client = self._execute_inserts(plans, job_name or None).get_job_client()
        assert client is not None
        return client.get_job_execution_result().result()

    def explain(self, table: Table | None = None, extended: bool = False) -> str:
        """Return how a table, or the inserts that wait for `execute()`, would be run."""
        note_old_name("TableEnvironment.explain()")
        if table is not None:
            return table.explain()
        plans = self._buffered.take(with_held=True)
        for plan in plans:
            self._buffered.add(plan)
        if not plans:
            raise TableException(
                at_user_line("there is no insert to explain; call insert_into() or sql_update() first")
            )
        return self._explain_inserts(plans, ())

    def _attach_buffered(self) -> None:
        """Put inserts of Flink 1.x into the next job of the environment of streams."""
        plans = self._buffered.take(with_held=False)
        if plans:
            note_old_name("execute() for insert_into()")
            self._attach_inserts(plans)


class ConnectTableDescriptor:
    """A table of Flink 1.x, put together by calls."""

    def __init__(self, t_env: OldTableNames, connector: ConnectorDescriptor) -> None:
        self._t_env = t_env
        self._properties = connector.to_properties()
        self._format: FormatDescriptor | None = None
        self._schema: Schema | None = None
        self._partition_keys: tuple[str, ...] = ()

    def with_format(self, format_descriptor: FormatDescriptor) -> ConnectTableDescriptor:
        """Set how rows are written."""
        self._format = format_descriptor
        return self

    def with_schema(self, schema: Schema) -> ConnectTableDescriptor:
        """Set the columns."""
        self._schema = schema
        return self

    def with_partition_keys(self, partition_keys: list[str]) -> ConnectTableDescriptor:
        """Set the columns that files are partitioned by."""
        self._partition_keys = tuple(partition_keys)
        return self

    def in_append_mode(self) -> ConnectTableDescriptor:
        """Do nothing: the plan knows which changes there are."""
        return self

    def in_retract_mode(self) -> ConnectTableDescriptor:
        """Do nothing: the plan knows which changes there are."""
        return self

    def in_upsert_mode(self) -> ConnectTableDescriptor:
        """Do nothing: the plan knows which changes there are."""
        return self

    def create_temporary_table(self, path: str) -> None:
        """Give the table a name."""
        if self._schema is None:
            raise TableException(at_user_line("Table schema must be explicitly defined; call with_schema()."))
        input_fields = self._format._fields if isinstance(self._format, OldCsv) else []
        properties = self._properties | (self._format.to_properties() if self._format is not None else {})
        declared = self._schema._declared(input_fields)
        descriptor = TableDescriptor(declared, properties, self._partition_keys)
        names = self._schema._names()
        if [each.name for each in declared._definition.columns] == names:
            self._t_env.create_temporary_table(path, descriptor)
        else:
            # Columns in another order than in the input, or computed of it: a view on the table that is the input.
            table = self._t_env.from_descriptor(descriptor).select(*map(col, names))
            self._t_env.create_temporary_view(path, table)

    def register_table_source(self, name: str) -> None:
        """Give the table a name, to read it."""
        self.create_temporary_table(name)

    def register_table_sink(self, name: str) -> None:
        """Give the table a name, to write to it."""
        self.create_temporary_table(name)

    def register_table_source_and_sink(self, name: str) -> None:
        """Give the table a name, to read it and to write to it."""
        self.create_temporary_table(name)
