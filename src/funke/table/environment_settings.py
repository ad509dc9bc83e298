"""Settings that a table environment is made with."""

from __future__ import annotations

from funke.common.configuration import Configuration
from funke.engine.flink_exceptions import TableException
from funke.table.flink_1.old_name_notes import note_old_name

__all__ = ["EnvironmentSettings", "Configuration"]

_MODE = "execution.runtime-mode"
_CATALOG = "table.builtin-catalog-name"
_DATABASE = "table.builtin-database-name"


class EnvironmentSettings:
    """Whether an environment works on streams or in batches, and what its own catalog is called.

    >>> from funke.table import EnvironmentSettings, TableEnvironment
    >>> settings = EnvironmentSettings.new_instance().in_batch_mode().with_built_in_catalog_name("shop").build()
    >>> settings.is_streaming_mode(), TableEnvironment.create(settings).get_current_catalog()
    (False, 'shop')
    """

    class Builder:
        """Collects settings."""

        def __init__(self) -> None:
            self._configuration = Configuration()

        def with_configuration(self, config: Configuration) -> EnvironmentSettings.Builder:
            """Take over all entries of a configuration."""
            self._configuration.add_all(config)
            return self

        def in_batch_mode(self) -> EnvironmentSettings.Builder:
            """Work on what is there, and give the result once."""
            return self._set(_MODE, "BATCH")

        def in_streaming_mode(self) -> EnvironmentSettings.Builder:
            """Work on streams, and give changes."""
            return self._set(_MODE, "STREAMING")

        # Flink 1.9 to 1.13 had several planners.

        def use_blink_planner(self) -> EnvironmentSettings.Builder:
            """Do nothing: there is one planner."""
            note_old_name("use_blink_planner()")
            return self

        def use_old_planner(self) -> EnvironmentSettings.Builder:
            """Do nothing: there is one planner."""
            note_old_name("use_old_planner()")
            return self

        def use_any_planner(self) -> EnvironmentSettings.Builder:
            """Do nothing: there is one planner."""
            note_old_name("use_any_planner()")
            return self

        def with_built_in_catalog_name(self, built_in_catalog_name: str) -> EnvironmentSettings.Builder:
            """Name the catalog that is there from the start."""
            return self._set(_CATALOG, built_in_catalog_name)

        def with_built_in_database_name(self, built_in_database_name: str) -> EnvironmentSettings.Builder:
            """Name the database that is there from the start."""
            return self._set(_DATABASE, built_in_database_name)

        def build(self) -> EnvironmentSettings:
            """Return the settings."""
            return EnvironmentSettings(Configuration(self._configuration))

        def _set(self, key: str, value: str) -> EnvironmentSettings.Builder:
            self._configuration.set_string(key, value)
            return self

    def __init__(self, configuration: Configuration) -> None:
        self._configuration = configuration

    def get_built_in_catalog_name(self) -> str:
        """Return the name of the catalog that is there from the start."""
        return self._configuration.get_string(_CATALOG, "default_catalog")

    def get_built_in_database_name(self) -> str:
        """Return the name of the database that is there from the start."""
        return self._configuration.get_string(_DATABASE, "default_database")

    def is_streaming_mode(self) -> bool:
        """Tell whether the environment works on streams."""
        mode = self._configuration.get_string(_MODE, "STREAMING").upper()
        if mode not in ("STREAMING", "BATCH"):
            raise TableException(
                f"Unsupported mode '{mode}' for '{_MODE}'. Only an explicit BATCH or STREAMING mode is supported in "
                "Table API."
            )
        return mode == "STREAMING"

    def get_configuration(self) -> Configuration:
        """Return the configuration."""
        return self._configuration

    # Names of Flink 1.x

    @staticmethod
    def from_configuration(config: Configuration) -> EnvironmentSettings:
        """Return the settings that a configuration holds."""
        note_old_name("EnvironmentSettings.from_configuration()")
        return EnvironmentSettings.new_instance().with_configuration(config).build()

    def to_configuration(self) -> Configuration:
        """Return the configuration."""
        note_old_name("EnvironmentSettings.to_configuration()")
        return self.get_configuration()

    @staticmethod
    def new_instance() -> EnvironmentSettings.Builder:
        """Begin to collect settings."""
        return EnvironmentSettings.Builder()

    @staticmethod
    def in_streaming_mode() -> EnvironmentSettings:
        """Return the settings of an environment that works on streams."""
        return EnvironmentSettings.new_instance().in_streaming_mode().build()

    @staticmethod
    def in_batch_mode() -> EnvironmentSettings:
        """Return the settings of an environment that works in batches."""
        return EnvironmentSettings.new_instance().in_batch_mode().build()
