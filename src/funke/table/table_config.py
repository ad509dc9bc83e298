"""Options of a table environment."""

from __future__ import annotations

import datetime
from typing import Any

from funke.common.configuration import Configuration
from funke.common.time import Duration
from funke.engine.config.option_values import format_value, parse_duration
from funke.engine.errors import ConfigurationError, at_user_line
from funke.engine.flink_exceptions import ValidationException
from funke.table.environments.local_time_zone import machine_zone, require_zone
from funke.table.flink_1.old_name_notes import note_old_name
from funke.table.sql_dialect import SqlDialect

__all__ = ["TableConfig", "Configuration", "SqlDialect"]

_ZONE = "table.local-time-zone"
_CODE_LENGTH = "table.generated-code.max-length"
_STATE_TTL = "table.exec.state.ttl"
_DIALECT = "table.sql-dialect"
_PYTHON = "python.executable"


class TableConfig:
    """What holds for all tables of an environment; it is read when a statement runs.

    >>> from funke.table import EnvironmentSettings, TableConfig, TableEnvironment
    >>> config: TableConfig = TableEnvironment.create(EnvironmentSettings.in_streaming_mode()).get_config()
    >>> config.set_local_timezone("Europe/Amsterdam")
    >>> config.set("table.exec.mini-batch.enabled", "true").get("table.local-time-zone", "default")
    'Europe/Amsterdam'
    """

    def __init__(self, configuration: Configuration | None = None, root: Configuration | None = None) -> None:
        self._configuration = Configuration() if configuration is None else configuration
        # What was configured around the environment; it holds where nothing is set here.
        self._root = Configuration() if root is None else root

    def get(self, key: str, default_value: str) -> str:
        """Return the value of a key as text."""
        configuration = self._configuration if self._configuration.contains_key(key) else self._root
        return configuration.get_string(key, default_value)

    def set(self, key: str, value: str) -> TableConfig:
        """Store text under a key."""
        self._configuration.set_string(key, value)
        return self

    def get_local_timezone(self) -> str:
        """Return the zone that instants are shown in; the machine's unless it is set."""
        zone = self.get(_ZONE, "default")
        return machine_zone() if zone == "default" else require_zone(zone)

    def set_local_timezone(self, timezone_id: str) -> None:
        """Set the zone that instants are shown in, such as `Europe/Berlin` or `GMT+08:00`."""
        if not isinstance(timezone_id, str):
            raise Exception("TableConfig.timezone should be a string!")
        self.set(_ZONE, require_zone(timezone_id))

    def get_max_generated_code_length(self) -> int:
        """Return the longest method that Flink would generate; no code of that kind is generated here."""
        return int(self.get(_CODE_LENGTH, "4000"))

    def set_max_generated_code_length(self, max_generated_code_length: int) -> None:
        """Set the longest method that Flink would generate; no code of that kind is generated here."""
        if not isinstance(max_generated_code_length, int):
            raise Exception("TableConfig.max_generated_code_length should be a int value!")
        self._configuration.set_integer(_CODE_LENGTH, max_generated_code_length)

    def set_idle_state_retention(self, duration: datetime.timedelta) -> None:
        """Set how long state is kept that is not read or written; 0 keeps it for ever."""
        self.set(_STATE_TTL, format_value(Duration.of_millis(round(duration.total_seconds() * 1000))))

    def get_idle_state_retention(self) -> datetime.timedelta:
        """Return how long state is kept that is not read or written; 0 keeps it for ever."""
        return datetime.timedelta(milliseconds=parse_duration(self.get(_STATE_TTL, "0 ms")).to_millis())

    def get_configuration(self) -> Configuration:
        """Return what was set here; changes of it hold."""
        return self._configuration

    def add_configuration(self, configuration: Configuration) -> None:
        """Take over all entries of a configuration."""
        self._configuration.add_all(configuration)

    def to_map(self) -> dict[str, str]:
        """Return all entries as text."""
        return self._root.to_dict() | self._configuration.to_dict()

    def get_sql_dialect(self) -> int:
        """Return the dialect, a constant of `SqlDialect`."""
        return SqlDialect.HIVE if self.get(_DIALECT, "default").lower() == "hive" else SqlDialect.DEFAULT

    def set_sql_dialect(self, sql_dialect: Any) -> None:
        """Set the dialect; there is no parser for Hive's, so the next statement is rejected."""
        if sql_dialect not in (SqlDialect.DEFAULT, SqlDialect.HIVE):
            raise TypeError(
                f"Unsupported SQL dialect: {sql_dialect}, supported SQL dialects are: "
                "SqlDialect.DEFAULT, SqlDialect.HIVE."
            )
        self.set(_DIALECT, "hive" if sql_dialect == SqlDialect.HIVE else "default")

    def _require_parser(self) -> None:
        dialect = self.get(_DIALECT, "default").lower()
        if dialect == "hive":
            raise ValidationException(
                "Could not find any factory for identifier 'hive' that implements "
                "'org.apache.flink.table.delegation.ParserFactory' in the classpath.\n\n"
                "Available factory identifiers are:\n\ndefault"
            )
        if dialect != "default":
            raise ConfigurationError(
                at_user_line(f"No enum constant org.apache.flink.table.api.SqlDialect.{dialect.upper()}")
            )

    def set_python_executable(self, python_exec: str) -> None:
        """Set the Python that functions of users run with."""
        self.set(_PYTHON, python_exec)

    def get_python_executable(self) -> str | None:
        """Return the Python that functions of users run with, if it was set."""
        return self._configuration.get_string(_PYTHON, "") or None

    # Names of Flink 1.x

    def set_idle_state_retention_time(self, min: datetime.timedelta, max: datetime.timedelta | None = None) -> None:
        """Set how long state is kept that is not read or written; the shorter time holds."""
        note_old_name("set_idle_state_retention_time()")
        self.set_idle_state_retention(min)

    def get_min_idle_state_retention_time(self) -> int:
        """Return how many milliseconds state is kept that is not read or written."""
        note_old_name("get_min_idle_state_retention_time()")
        return round(self.get_idle_state_retention().total_seconds() * 1000)

    def get_max_idle_state_retention_time(self) -> int:
        """Return Flink's upper bound of that time: half as much again."""
        note_old_name("get_max_idle_state_retention_time()")
        return round(self.get_idle_state_retention().total_seconds() * 1500)

    def set_parallelism(self, parallelism: int) -> None:
        """Set how many subtasks work side by side."""
        note_old_name("TableConfig.set_parallelism()")
        self.set("parallelism.default", str(parallelism))

    def get_parallelism(self) -> int:
        """Return how many subtasks work side by side."""
        note_old_name("TableConfig.get_parallelism()")
        return int(self.get("parallelism.default", "1"))

    def set_null_check(self, null_check: bool) -> None:
        """Do nothing: NULL is always checked for."""
        note_old_name("set_null_check()")

    def get_null_check(self) -> bool:
        """Tell that NULL is checked for."""
        note_old_name("get_null_check()")
        return True

    def set_decimal_context(self, precision: int, rounding_mode: str) -> None:
        """Do nothing: decimals are exact, with the rounding of Flink 2."""
        note_old_name("set_decimal_context()")

    @staticmethod
    def get_default() -> TableConfig:
        """Return a configuration in which nothing is set."""
        return TableConfig()
