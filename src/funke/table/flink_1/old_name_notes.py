"""What names of Flink 1.x are called today, and the notes that say so: one for each name, once in a process."""

from __future__ import annotations

from funke.engine.errors import user_line
from funke.engine.jobs.notices import notice

__all__ = ["MODERN_NAMES", "note_old_name"]

_CREATE_TABLE = "CREATE TABLE, or create_temporary_table() with a TableDescriptor"
_SETTINGS = "left out: there is one planner"
MODERN_NAMES = {
    "use_blink_planner()": _SETTINGS,
    "use_old_planner()": _SETTINGS,
    "use_any_planner()": _SETTINGS,
    "BatchTableEnvironment": "TableEnvironment.create(EnvironmentSettings.in_batch_mode())",
    "ExecutionEnvironment": "StreamExecutionEnvironment with RuntimeExecutionMode.BATCH",
    "a TableConfig in create()": "create(env, EnvironmentSettings), and get_config().set(key, value) afterwards",
    "register_table()": "create_temporary_view()",
    "register_table_source()": _CREATE_TABLE,
    "register_table_sink()": _CREATE_TABLE,
    "from_table_source()": "from_descriptor()",
    "CsvTableSource": _CREATE_TABLE,
    "CsvTableSink": _CREATE_TABLE,
    "scan()": "from_path()",
    "connect()": _CREATE_TABLE,
    "'connector.type'": "'connector', with the options of the documentation of connectors",
    "sql_update()": "execute_sql()",
    "TableEnvironment.execute()": "Table.execute_insert(), or a StatementSet",
    "execute() for insert_into()": "Table.execute_insert(), or StatementSet.attach_as_datastream()",
    "TableEnvironment.explain()": "Table.explain(), or StatementSet.explain()",
    "TableEnvironment.insert_into()": "Table.execute_insert(), or a StatementSet",
    "register_function()": "create_temporary_system_function()",
    "udf_type": "func_type",
    "expressions as texts": "expressions as objects: col('a'), col('b').sum.alias('c')",
    "set_idle_state_retention_time()": "set_idle_state_retention()",
    "get_min_idle_state_retention_time()": "get_idle_state_retention()",
    "get_max_idle_state_retention_time()": "get_idle_state_retention()",
    "TableConfig.set_parallelism()": "set('parallelism.default', …)",
    "TableConfig.get_parallelism()": "get('parallelism.default', …)",
    "set_null_check()": "left out: NULL is always checked for",
    "get_null_check()": "left out: NULL is always checked for",
    "set_decimal_context()": "left out: decimals are exact",
    "EnvironmentSettings.from_configuration()": "new_instance().with_configuration(configuration).build()",
    "EnvironmentSettings.to_configuration()": "get_configuration()",
    "pyflink.table.functions": "pyflink.table.udf",
}
_noted: set[str] = set()


def note_old_name(name: str) -> None:
    """Name the spelling of today on standard error, once in a process."""
    if name not in _noted:
        _noted.add(name)
        line = user_line()
        where = f" ({line})" if line else ""
        notice(f"note: {name}{where} is of Flink 1.x; today: {MODERN_NAMES[name]}")
