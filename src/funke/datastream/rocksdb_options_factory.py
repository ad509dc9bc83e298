"""User code that has the last word about RocksDB's options."""

from __future__ import annotations

import base64
import importlib
from abc import ABC, abstractmethod
from typing import Any

import cloudpickle

from funke.common.configuration import Configuration
from funke.engine.config import flink_options as options
from funke.engine.config import rocksdb_options
from funke.engine.config.settings import Settings
from funke.engine.errors import ConfigurationError
from funke.engine.jobs.checkpoints.backend_settings import PICKLED_FACTORY

__all__ = ["ConfigurableRocksDBOptionsFactory", "RocksDBOptionsFactory"]

# Flink's own factory only does what options do.
_FLINKS_OWN = "DefaultConfigurableOptionsFactory"


class RocksDBOptionsFactory(ABC):
    """Changes the options of every RocksDB database of a job.

    Both methods get the options of the package `rocksdict`, change them and return them. What must live as long as the
    database goes into `handles_to_close`. The write buffers of a slot stay one budget whatever is set.
    """

    @abstractmethod
    def create_db_options(self, current_options: Any, handles_to_close: list[Any]) -> Any:
        """Change what concerns the database as a whole, such as its threads."""

    @abstractmethod
    def create_column_options(self, current_options: Any, handles_to_close: list[Any]) -> Any:
        """Change what concerns the data, such as write buffers and compaction."""


class ConfigurableRocksDBOptionsFactory(RocksDBOptionsFactory):
    """A factory that reads the job's configuration first."""

    @abstractmethod
    def configure(self, configuration: Configuration) -> RocksDBOptionsFactory:
        """Read the configuration, and return the factory to use."""


def load_factory(name: str) -> Any:
    """Make the factory that a configuration names as 'module.Class'."""
    module, _, class_name = name.replace(":", ".").rpartition(".")
    try:
        return require_factory(getattr(importlib.import_module(module), class_name)())
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigurationError(
            f"the RocksDB options factory '{name}' cannot be loaded: {error}. Classes of the JVM are not used "
            "here: write a Python class with create_db_options and create_column_options (RocksDBOptionsFactory in "
            "funke.datastream.state_backend), and name it as 'module.Class'"
        ) from error


def require_factory(factory: Any) -> Any:
    """Return an object that has the methods of a factory; others are rejected."""
    for method in ("create_db_options", "create_column_options"):
        if not callable(getattr(factory, method, None)):
            raise ConfigurationError(
                f"a RocksDB options factory needs {method}(options, handles); {factory!r} has none"
            )
    return factory


def with_packed_factory(settings: Settings) -> Settings:
    """Return settings in which the factory, if there is one, is configured and in the form it travels in."""
    chosen = settings.raw(rocksdb_options.OPTIONS_FACTORY.key)
    backend = str(settings.get(options.STATE_BACKEND)).lower()
    packed = settings.copy()
    if not chosen or "rocksdb" not in backend:
        return packed
    if isinstance(chosen, str):
        if chosen.startswith(PICKLED_FACTORY):
            return packed
        if chosen.endswith(_FLINKS_OWN):
            packed.unset(rocksdb_options.OPTIONS_FACTORY)
            return packed
        chosen = load_factory(chosen)
    if hasattr(chosen, "configure"):
        configuration = Configuration()
        configuration._settings.update(settings)
        chosen = require_factory(chosen.configure(configuration) or chosen)
    text = PICKLED_FACTORY + base64.b64encode(cloudpickle.dumps(chosen)).decode()
    packed.set(rocksdb_options.OPTIONS_FACTORY, text)
    return packed
