"""Record what the reference makes of types in every spelling: as columns, in casts and as texts of the Table API.

PYFLINK_PYTHON=/path/to/pyflink/bin/python python tests/differential/sql/record_types.py
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from recorded_form import write_lines
from reference_session import rejection_of, run_in_reference, types_of
from type_spellings import SPELLINGS


def main() -> int:
    answer = run_in_reference(__file__, sys.argv[1:])
    if answer is not None:
        return answer
    from pyflink.table import (  # type: ignore[import-not-found]
        EnvironmentSettings,
        Schema,
        TableDescriptor,
        TableEnvironment,
    )
    from pyflink.table.udf import udf  # type: ignore[import-not-found]

    environment = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())

    def column(text: str) -> list[str]:
        try:
            environment.execute_sql(f"CREATE TABLE t (c {text}) WITH ('connector' = 'print')")
            return described()
        finally:
            environment.execute_sql("DROP TABLE IF EXISTS t")

    def described() -> list[str]:
        with environment.execute_sql("DESCRIBE t").collect() as rows:
            return [f"{row[1]}{'' if row[2] else ' NOT NULL'}" for row in rows]

    def cast(text: str) -> list[str]:
        return types_of(environment.sql_query(f"SELECT CAST(NULL AS {text})"))

    def try_cast(text: str) -> list[str]:
        return types_of(environment.sql_query(f"SELECT TRY_CAST(NULL AS {text})"))

    def schema(text: str) -> list[str]:
        schema = Schema.new_builder().column("c", text).build()
        try:
            environment.create_table("t", TableDescriptor.for_connector("print").schema(schema).build())
            return described()
        finally:
            environment.execute_sql("DROP TABLE IF EXISTS t")

    def function(text: str) -> list[str]:
        function = udf(lambda each: each, result_type=text)
        return types_of(environment.sql_query("SELECT 1 AS n").select(function(1)))

    ways: dict[str, Callable[[str], list[str]]] = {
        "column": column,
        "cast": cast,
        "try_cast": try_cast,
        "schema": schema,
        "function": function,
    }
    write_lines("sql_types.jsonl.gz", ({"s": each, **recorded(ways, each)} for each in SPELLINGS))
    return 0


def recorded(ways: dict[str, Callable[[str], list[str]]], text: str) -> dict[str, Any]:
    outcomes: dict[str, Any] = {}
    for name, way in ways.items():
        try:
            outcomes[name] = way(text)
        except Exception as error:
            outcomes[name] = {"why": rejection_of(error).splitlines()[-1][:120]}
    return outcomes


if __name__ == "__main__":
    sys.exit(main())
