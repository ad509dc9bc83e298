"""What an interactive Python begins with: the names of the API, and environments for streams and for tables.

python -i -m funke.shell
"""

# ruff: noqa: F401, F403, F405
from __future__ import annotations

import platform

from funke.common import *
from funke.datastream import *
from funke.metrics import *
from funke.table import *  # type: ignore[assignment]  # functions of tables come after those of streams, as in PyFlink
from funke.table.catalog import *
from funke.table.expressions import col
from funke.table.window import *

s_env = StreamExecutionEnvironment.get_execution_environment()
st_env = StreamTableEnvironment.create(s_env)

print(
    f"Funke in Python {platform.python_version()}: 's_env' makes streams, 'st_env' makes tables, such as\n\n"
    "    st_env.from_elements([(1, 'hi'), (2, 'hello')], ['a', 'b']).select(col('a') + 1, col('b')).execute().print()\n"
)
