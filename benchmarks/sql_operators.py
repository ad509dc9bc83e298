"""What SQL operators cost a row, in one process without Spark: in large and small batches, with functions, in memory.

python benchmarks/sql_operators.py                  prints all figures; `run.py --only operators-…` measures the same
python benchmarks/sql_operators.py stored-row FORM  prints the bytes of a stored row of a join beside its columns
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
import re
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np
import pyarrow as pa

import funke.engine.kernels
from funke.engine.graph.operations import ColumnOperator
from funke.engine.kernels.kernel import Kernel
from funke.engine.runtime.slots.slot_process import keep_large_blocks_apart
from funke.engine.sql.binding.joins.regular_joins import columns_of_join
from funke.engine.sql.binding.relations import Column, Scan
from funke.engine.sql.plan.changelogs.changes import ALL_KINDS, INSERTS
from funke.engine.sql.plan.changelogs.upsert_keys import NO_KEYS, one_key
from funke.engine.sql.plan.joins.join import Join
from funke.engine.sql.plan.node import DetachedInput
from funke.engine.sql.statements.plans.job_plans import planned_rows
from funke.engine.types.columns.column_batch import ColumnBatch
from funke.engine.types.logical.sql_text import from_sql_text
from funke.table import DataTypes, EnvironmentSettings, TableEnvironment
from funke.table.udf import udf
from tests.harness.operator_harness import OperatorHarness
from tests.harness.sql_plans import RunningPlan

__all__ = [
    "FORMS",
    "QUERIES",
    "TWO_BEFORE",
    "batch_costs_us",
    "condition_costs_us",
    "sorted_over_rows_per_s",
    "stored_row_bytes",
]

LARGE, SMALL = 10_000, 100
ROWS = 200_000
# Memory counts where rows are many: holes of a heap do not grow with them.
STORED_ROWS = 1_000_000
COLUMNS = {"k": "BIGINT", "a": "BIGINT", "b": "DOUBLE", "s": "STRING", "t": "TIMESTAMP(3)"}
_NUMBERED = "SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY a DESC) AS r FROM l"
_JOIN = "SELECT l.*, r.* FROM l JOIN r ON l.k = r.k"
QUERIES = {
    "join": _JOIN,
    "left-join": _JOIN.replace("JOIN", "LEFT JOIN"),
    "aggregate": "SELECT k, COUNT(*), SUM(a), MAX(b), MIN(a), AVG(a) FROM l GROUP BY k",
    "top-10": f"SELECT k, a, b FROM ({_NUMBERED}) WHERE r <= 10",
}
_CONDITIONS = ("l.a < r.a", "less(l.a, r.a)", "less_pandas(l.a, r.a)")
TWO_BEFORE = "ROWS BETWEEN 2 PRECEDING AND CURRENT ROW"
# How the rows of a join are stored: the kinds of changes that come, and whether they have a key.
FORMS = {"append": (INSERTS, NO_KEYS), "unique": (ALL_KINDS, one_key((0,))), "retract": (ALL_KINDS, NO_KEYS)}


class _FedPlan(RunningPlan):
    """A plan whose tables get whole batches."""

    def _elements(self, relation: Any, rows: Any) -> list[Any]:
        if isinstance(relation, Scan):
            return [ColumnBatch(rows[relation.path[-1]].select([each.name for each in relation.columns]))]
        return super()._elements(relation, rows)

    def run(self, batches: Mapping[str, pa.RecordBatch]) -> None:
        """Takes in a batch of each table."""
        self._elements(self._relation, batches)
        self._is_new = False


@functools.cache
def _tables() -> TableEnvironment:
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    columns = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
    for name in "lr":
        t_env.execute_sql(f"CREATE TABLE {name} ({columns}) WITH ('connector' = 'datagen')")
    kinds = {"less": "general", "less_pandas": "pandas"}
    for name, kind in kinds.items():
        less = udf(lambda one, other: one < other, result_type=DataTypes.BOOLEAN(), func_type=kind)
        t_env.create_temporary_function(name, less)
    _compile()
    return t_env


def _compile() -> None:
    """Waits until all kernels are compiled, which a long job does not feel."""
    modules = pkgutil.iter_modules(funke.engine.kernels.__path__, "funke.engine.kernels.")
    objects = [each for module in modules for each in vars(importlib.import_module(module.name)).values()]
    kernels = [each for each in objects if isinstance(each, Kernel)]
    while None in [each.compiled(1 << 30) for each in kernels]:
        time.sleep(0.3)


def _rows(count: int, seed: int, keys: int) -> pa.RecordBatch:
    chance = np.random.default_rng(seed)
    columns = [
        pa.array(chance.integers(0, keys, count)),
        pa.array(chance.integers(0, 1 << 40, count)),
        pa.array(chance.random(count) * 1e4),
        pa.array([f"name-{number % 1000}" for number in range(count)]),
        pa.array(chance.integers(0, 1 << 40, count).astype("datetime64[ms]")),
    ]
    return pa.RecordBatch.from_arrays(columns, list(COLUMNS))


def _cost_us(query: str, size: int, rows: int, keys: int) -> float:
    """CPU microseconds of an input row, when half of all rows are known."""
    t_env = _tables()
    plan = _FedPlan(planned_rows(t_env._session, t_env.sql_query(query)._relation))
    names = re.findall(r"(?:FROM|JOIN) (\w)\b", query)
    tables = {name: _rows(rows, seed, keys) for seed, name in enumerate(names)}

    def feed(begin: int, end: int, size: int) -> None:
        for start in range(begin, end, size):
            plan.run({name: each.slice(start, min(size, end - start)) for name, each in tables.items()})

    feed(0, rows // 2, LARGE)
    began = time.process_time()
    feed(rows // 2, rows, size)
    return (time.process_time() - began) / (rows // 2 * len(names)) * 1e6


def batch_costs_us(name: str) -> tuple[float, float]:
    """CPU of a row in large batches and in small ones."""
    query, keys = QUERIES[name], ROWS // 2 if "join" in name else ROWS // 20
    large, small = (_cost_us(query, size, ROWS, keys) for size in (LARGE, SMALL))
    return large, small


def condition_costs_us() -> tuple[float, float, float]:
    """CPU of a row of a join whose condition is an expression, a Python function, a function on columns."""
    one, two, three = (_cost_us(f"{_JOIN} AND {each}", LARGE // 2, ROWS, ROWS // 2) for each in _CONDITIONS)
    return one, two, three


def sorted_over_rows_per_s(call: str = "SUM(a)", frame: str = "") -> float:
    """Rows in a second of CPU of OVER by a value, when partitions have ten rows at the end."""
    rows = ROWS // 10
    query = f"SELECT k, a, {call} OVER (PARTITION BY k ORDER BY b {frame}) FROM l"
    return 1e6 / _cost_us(query, rows // 4, rows, rows // 10)


def stored_row_bytes(form: str) -> float:
    """How much memory a stored row of a join takes beside its columns, if both sides have one row of each key."""
    command = [sys.executable, __file__, "stored-row", form]
    # Large pages may add some bytes, by where arrays happen to stand.
    done = [subprocess.run(command, capture_output=True, text=True, check=True) for _ in range(3)]
    return statistics.median(float(each.stdout.split()[-1]) for each in done)


def _measure_stored_row(form: str) -> float:
    # As in a slot.
    keep_large_blocks_apart()
    kinds, key = FORMS[form]
    columns = tuple(Column(name, from_sql_text(kind)) for name, kind in COLUMNS.items())
    one = DetachedInput(columns, kinds, key)
    join = Join(columns_of_join(columns, columns, "inner"), one, one, (0,), (0,), "inner", None)
    _compile()
    rows = _rows(2 * STORED_ROWS, 0, STORED_ROWS)
    rows = rows.set_column(0, "k", pa.array(np.random.default_rng(1).permutation(len(rows))))
    harness = OperatorHarness(ColumnOperator(join.detached().create), keeps_columns=True)

    def feed(begin: int, end: int) -> None:
        for start in range(begin, end, LARGE):
            for side in range(2):
                harness.operator.columns_handler(side)(ColumnBatch(rows.slice(start, LARGE)))
                harness.elements()

    feed(0, LARGE)
    before = _resident_bytes()
    feed(LARGE, len(rows))
    share = 1 - LARGE / len(rows)
    return float((_resident_bytes() - before) / (2 * len(rows) * share) - rows.nbytes / len(rows))


def _resident_bytes() -> int:
    # What Arrow has freed is not of rows, and it gives it back at some later time.
    pa.default_memory_pool().release_unused()
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * resource.getpagesize()


def main(arguments: list[str]) -> None:
    """Prints what is asked for."""
    if arguments[:1] == ["stored-row"]:
        print(_measure_stored_row(arguments[1]))
        return
    for name in QUERIES:
        large, small = batch_costs_us(name)
        print(f"{name}: {large:.2f} µs in batches of {LARGE}, {small:.2f} in batches of {SMALL}: {large / small:.2f}")
    print("condition of a join, µs: expression {:.2f}, Python {:.2f}, pandas {:.2f}".format(*condition_costs_us()))
    print(f"OVER by values: {sorted_over_rows_per_s():,.0f} rows/s")
    for call in ("SUM(a)", "FIRST_VALUE(a)"):
        print(f"OVER by values, {call} of {TWO_BEFORE}: {sorted_over_rows_per_s(call, TWO_BEFORE):,.0f} rows/s")
    for form in FORMS:
        print(f"stored row, {form}: {stored_row_bytes(form):.0f} bytes beside its columns")


if __name__ == "__main__":
    main(sys.argv[1:])
