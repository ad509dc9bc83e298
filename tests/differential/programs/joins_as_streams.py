# compare: unordered
# parallelism: 1
"""Joins of the Table API as streams of changes and of rows, and printed; what two inputs race for is folded."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from pyflink.common import Row, RowKind, Types
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.table import DataTypes, Schema, StreamTableEnvironment, Table
from pyflink.table.expressions import call, col

ORDERS = [(1, "ann", 10), (2, "bob", 20), (3, "ann", 30), (4, None, 40)]
CUSTOMERS = [("ann", "Rome"), ("bob", "Oslo"), ("cid", "Bonn"), (None, "Graz")]
CHANGES = [
    (RowKind.INSERT, "ann", "Rome"),
    (RowKind.INSERT, "bob", "Oslo"),
    (RowKind.UPDATE_BEFORE, "ann", "Rome"),
    (RowKind.UPDATE_AFTER, "ann", "Pisa"),
    (RowKind.DELETE, "bob", "Oslo"),
]
TAKEN_BACK = (RowKind.UPDATE_BEFORE, RowKind.DELETE)


def changed(kind: RowKind, name: str, town: str) -> Row:
    row = Row(name, town)
    row.set_row_kind(kind)
    return row


def show(title: str, stream: Any) -> None:
    """The rows that the changes of a stream leave: which of them there are depends on which input is faster."""
    left: Counter[str] = Counter()
    with stream.execute_and_collect() as rows:
        for row in rows:
            left[str([str(value) for value in row])] += -1 if row.get_row_kind() in TAKEN_BACK else 1
    print(title)
    for each in sorted((+left).elements()):
        print("   ", each)


def rejected(title: str, call_it: Any) -> None:
    try:
        call_it()
    except Exception as error:
        lines = [line.strip() for line in str(error).splitlines() if "TableException:" in line or "doesn't" in line]
        text = lines[0].rpartition("TableException: ")[2] if lines else type(error).__name__
        # How many sinks there were before.
        print(title, "is refused:", re.sub(r"[$]\d+", "", text))


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    t_env = StreamTableEnvironment.create(env)
    order_type = Types.ROW_NAMED(["id", "customer", "amount"], [Types.INT(), Types.STRING(), Types.INT()])
    customer_type = Types.ROW_NAMED(["name", "town"], [Types.STRING(), Types.STRING()])
    orders = t_env.from_data_stream(env.from_collection([Row(*each) for each in ORDERS], order_type))
    customers = t_env.from_data_stream(env.from_collection([Row(*each) for each in CUSTOMERS], customer_type))
    stream = env.from_collection([changed(*each) for each in CHANGES], customer_type)
    schema = Schema.new_builder().column("name", DataTypes.STRING()).column("town", DataTypes.STRING()).build()
    versions = t_env.from_changelog_stream(stream, schema)
    same = col("customer") == col("name")

    def joins(right: Table) -> dict[str, Table]:
        return {
            "inner": orders.join(right, same),
            "left": orders.left_outer_join(right, same),
            "full": orders.full_outer_join(right, same),
            "chosen": orders.join(right).where(same).select(col("id"), call("UPPER", col("town")).alias("town")),
            "compared": orders.right_outer_join(right, same & (col("amount") > 15)).select(col("id"), col("town")),
        }

    for name, right, kinds in (("rows", customers, ("left", "compared")), ("changes", versions, ("inner", "full"))):
        for kind in kinds:
            show(f"{kind} join with {name}:", t_env.to_changelog_stream(joins(right)[kind]))
    show("inner join as rows:", t_env.to_data_stream(joins(customers)["inner"]))
    chosen = joins(customers)["chosen"]
    show("append stream:", t_env.to_append_stream(chosen, Types.ROW([Types.INT(), Types.STRING()])))
    for kind in ("left", "full"):
        rejected(f"{kind} join as rows", lambda kind=kind: t_env.to_data_stream(joins(customers)[kind]))
    rejected("join with changes as rows", lambda: t_env.to_data_stream(joins(versions)["inner"]))
    print(sorted(joins(customers)["full"].get_schema().get_field_names()))
    t_env.execute_sql("CREATE TABLE shown (id INT, town STRING) WITH ('connector' = 'print', 'print-identifier' = 'j')")
    chosen.execute_insert("shown").wait()


if __name__ == "__main__":
    main()
