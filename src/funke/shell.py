"""What an interactive Python begins with: the names of the API, and environments for streams and for tables.

python -i -m funke.shell
"""

# ruff: noqa: F401, F403, F405
from __future__ import annotations

import platform
from typing import TYPE_CHECKING, Any

from funke.common import *
from funke.datastream import *
from funke.metrics import *
from funke.table import *  # type: ignore[assignment]  # functions of tables come after those of streams, as in PyFlink
from funke.table.catalog import *
from funke.table.descriptors import *  # type: ignore[assignment]  # their Schema comes last, as in PyFlink
from funke.table.expressions import col
from funke.table.window import *

if TYPE_CHECKING:
    from funke.dataset import ExecutionEnvironment

    b_env: ExecutionEnvironment
    bt_env: BatchTableEnvironment

s_env = StreamExecutionEnvironment.get_execution_environment()
st_env = StreamTableEnvironment.create(s_env)

print(
    f"Funke in Python {platform.python_version()}: 's_env' makes streams, 'st_env' makes tables, such as\n\n"
    "    st_env.from_elements([(1, 'hi'), (2, 'hello')], ['a', 'b']).select(col('a') + 1, col('b')).execute().print()\n"
)


def __getattr__(name: str) -> Any:
    """Make the environments of batch programs when a program of Flink 1.x imports them."""
    if name not in ("b_env", "bt_env"):
        raise AttributeError(f"module 'funke.shell' has no attribute {name!r}")
    from funke.dataset import ExecutionEnvironment

    environment = ExecutionEnvironment.get_execution_environment()
    globals().update(b_env=environment, bt_env=BatchTableEnvironment.create(environment))
    return globals()[name]
