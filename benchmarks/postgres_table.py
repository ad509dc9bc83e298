"""A PostgreSQL server for measurements, with tables of six columns."""

from __future__ import annotations

import atexit
import contextlib
import sys
from functools import cache
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

__all__ = ["address", "table"]


@cache
def _server() -> Any:
    """Starts the server, which ends with this process."""
    from tests.harness.postgres_server import running_postgres

    stack = contextlib.ExitStack()
    atexit.register(stack.close)
    return stack.enter_context(running_postgres())


def address() -> list[str]:
    """Port, database, user and password, as programs/cdc_snapshot.py is told them."""
    from tests.harness.postgres_server import DATABASE, PASSWORD, USER

    return [str(_server().port), DATABASE, USER, PASSWORD]


@cache
def table(rows: int) -> str:
    """A table with so many rows."""
    name = f"rows_{rows}"
    columns = "id bigint primary key, name text, price double precision, amount int, paid boolean, at timestamp"
    _server().run(
        f"create table {name} ({columns})",
        f"insert into {name} select g, 'name ' || g, g * 1.5, g % 1000, g % 2 = 0, "
        f"timestamp '2024-01-01' + g * interval '1 second' from generate_series(1, {rows}) g",
        f"analyze {name}",
    )
    return name
