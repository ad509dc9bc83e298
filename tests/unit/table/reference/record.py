"""Keeps what PyFlink shows for expressions, schemas and results; run it with the Python of a PyFlink installation.

python tests/unit/table/reference/record.py    # writes expressions.json, objects.json, results.json beside itself
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

from expression_sources import SCHEMAS, SOURCES  # type: ignore[import-not-found]
from result_programs import QUERIES  # type: ignore[import-not-found]

HERE = Path(__file__).parent
MARK = "## "


def main() -> None:
    names = pyflink_names()
    write("expressions.json", {source: text_of(source, names, str) for source in SOURCES})
    write("objects.json", {name: text_of(source, names, str) for name, source in SCHEMAS.items()})
    write("results.json", {mode: printed_results(mode) for mode in ("streaming", "batch")})


def pyflink_names() -> dict[str, Any]:
    names: dict[str, Any] = {"date": date, "datetime": datetime, "time": time, "timedelta": timedelta}
    for module in ("common", "table", "table.expression", "table.expressions", "table.catalog"):
        imported = __import__(f"pyflink.{module}", fromlist=["x"])
        names.update({name: getattr(imported, name) for name in dir(imported) if not name.startswith("_")})
    names.update({"Decimal": Decimal, "date": date, "datetime": datetime, "time": time, "abs": abs})
    names.update(a=names["col"]("a"), b=names["col"]("b"), add=python_function())
    return names


def python_function() -> Any:
    from pyflink.table import DataTypes  # type: ignore[import-not-found]
    from pyflink.table.udf import udf  # type: ignore[import-not-found]

    return udf(lambda x, y: x + y, result_type=DataTypes.BIGINT(), name="add")


def text_of(source: str, names: dict[str, Any], show: Callable[[Any], str]) -> str:
    try:
        return show(eval(source, names))
    except Exception as error:
        message = getattr(error, "java_exception", None)
        return f"! {message.toString() if message is not None else error}".splitlines()[0]


def printed_results(mode: str) -> dict[str, str]:
    """Run every query in one environment and keep what `print()` writes: a JVM does, so in another process."""
    finished = subprocess.run(
        [sys.executable, __file__, mode], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True
    )
    parts = finished.stdout.split(MARK)[1:]
    return dict(part.split("\n", 1) for part in parts)


def print_results(mode: str) -> None:
    from pyflink.table import EnvironmentSettings, TableEnvironment  # type: ignore[import-not-found]

    environment = TableEnvironment.create(getattr(EnvironmentSettings, f"in_{mode}_mode")())
    environment.get_config().set("parallelism.default", "1")
    environment.get_config().set_local_timezone("UTC")
    for name, query in QUERIES.items():
        print(MARK + name, flush=True)
        environment.execute_sql(query).print()


def write(name: str, entries: dict[str, Any]) -> None:
    (HERE / name).write_text(json.dumps(entries, indent=1, ensure_ascii=False) + "\n")
    print(f"wrote {name}: {len(entries)} entries")


if __name__ == "__main__":
    print_results(sys.argv[1]) if len(sys.argv) > 1 else main()
