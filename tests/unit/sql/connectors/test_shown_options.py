"""Errors about a table show its options, but not what mistyped ones hold."""

from __future__ import annotations

import pytest

from funke.engine.flink_exceptions import JavaException
from funke.table import EnvironmentSettings, TableEnvironment


@pytest.mark.parametrize("key", ["pasword", "pwrod", "usr.name"])
def test_a_mistyped_option_is_named_without_its_value(key: str) -> None:
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.execute_sql(
        "CREATE TABLE t (a INT) WITH ('connector' = 'jdbc', 'url' = 'jdbc:sqlite:/x.db', 'table-name' = 'visible', "
        f"'{key}' = 'hush')"
    )
    with pytest.raises(JavaException) as caught:
        t_env.sql_query("SELECT * FROM t")
    message = str(caught.value)
    assert "hush" not in message and f"'{key}'='******'" in message and "'table-name'='visible'" in message
