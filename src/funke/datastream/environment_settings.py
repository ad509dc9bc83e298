"""The settings of an environment: thin setters over one store of Flink's options."""

from __future__ import annotations

import os
from typing import ClassVar, TypeVar

from funke.common.configuration import Configuration
from funke.common.execution_config import ExecutionConfig
from funke.common.restart_strategy import RestartStrategyConfiguration
from funke.datastream.checkpoint_config import CheckpointConfig
from funke.datastream.checkpointing_mode import CheckpointingMode
from funke.datastream.execution_mode import RuntimeExecutionMode
from funke.datastream.operator_settings import require_max_parallelism, require_parallelism
from funke.datastream.slot_sharing_group import SlotSharingGroup, name_in_use
from funke.datastream.state_backend import StateBackend
from funke.datastream.time_characteristic import TimeCharacteristic
from funke.engine.config import flink_options as options
from funke.engine.config.settings import Settings
from funke.engine.errors import ConfigurationError, at_user_line
from funke.engine.types.enum_members import require_member
from funke.engine.types.time import Duration

_T = TypeVar("_T", bound="EnvironmentSettings")


def available_cores() -> int:
    """The cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class EnvironmentSettings:
    """The settings of an environment, made before a job is submitted."""

    # Flink keeps this one per process too: it concerns environments that are made later.
    _default_local_parallelism: ClassVar[int | None] = None

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        if not settings.is_set(options.PARALLELISM):
            settings.set(options.PARALLELISM, self.get_default_local_parallelism())
        require_parallelism(settings.get(options.PARALLELISM), "parallelism.default")
        self._config = ExecutionConfig(settings)
        self._checkpoint_config = CheckpointConfig(settings)
        self._state_backend: StateBackend | None = None
        self._cached_files: dict[str, tuple[str, bool]] = {}

    def get_config(self) -> ExecutionConfig:
        """Return the settings that concern how jobs run."""
        return self._config

    def set_parallelism(self: _T, parallelism: int) -> _T:
        """Set the number of subtasks of the operators that are added from now on."""
        require_parallelism(parallelism, "the parallelism of the environment")
        self._settings.set(options.PARALLELISM, parallelism)
        return self

    def get_parallelism(self) -> int:
        """Return the number of subtasks of operators that do not say otherwise."""
        return int(self._settings.get(options.PARALLELISM))

    def set_max_parallelism(self: _T, max_parallelism: int) -> _T:
        """Set the number of key groups of operators that do not say otherwise."""
        require_max_parallelism(max_parallelism, "the maximum parallelism of the environment")
        self._settings.set(options.MAX_PARALLELISM, max_parallelism)
        return self

    def get_max_parallelism(self) -> int:
        """Return the number of key groups, or -1 when it follows from the parallelism."""
        return self._config.get_max_parallelism()

    def get_default_local_parallelism(self) -> int:
        """Return the default parallelism of environments: the number of cores, unless changed."""
        return EnvironmentSettings._default_local_parallelism or available_cores()

    def set_default_local_parallelism(self, parallelism: int) -> None:
        """Change the parallelism of environments that are made later."""
        require_parallelism(parallelism, "the default local parallelism")
        EnvironmentSettings._default_local_parallelism = parallelism

    def register_slot_sharing_group(self: _T, slot_sharing_group: SlotSharingGroup) -> _T:
        """Make the resources of a slot sharing group known; recorded nowhere, since slots have no limits."""
        name_in_use(slot_sharing_group)
        return self

    def set_runtime_mode(self: _T, execution_mode: RuntimeExecutionMode) -> _T:
        """Choose whether jobs give running results, or one result at the end of bounded input."""
        mode = require_member(RuntimeExecutionMode, execution_mode, "set_runtime_mode()")
        self._settings.set(options.RUNTIME_MODE, mode.name)
        return self

    def set_buffer_timeout(self: _T, timeout_millis: int) -> _T:
        """Set how long records may wait to be sent together; -1 until a block is full, in epochs a second."""
        if timeout_millis < -1:
            raise ConfigurationError(at_user_line(f"a buffer timeout must be at least -1, got {timeout_millis}"))
        self._settings.set(options.BUFFER_TIMEOUT_ENABLED, timeout_millis >= 0)
        if timeout_millis >= 0:
            self._settings.set(options.BUFFER_TIMEOUT, Duration.of_millis(timeout_millis))
        return self

    def get_buffer_timeout(self) -> int:
        """Return how many milliseconds records may wait to be sent together, or -1."""
        if not self._settings.get(options.BUFFER_TIMEOUT_ENABLED):
            return -1
        return int(self._settings.get(options.BUFFER_TIMEOUT).to_millis())

    def disable_operator_chaining(self: _T) -> _T:
        """Let every operator run in a task of its own."""
        self._settings.set(options.OPERATOR_CHAINING, False)
        return self

    def is_chaining_enabled(self) -> bool:
        """Tell whether operators are fused into chains."""
        return self._settings.get(options.OPERATOR_CHAINING)

    def is_chaining_of_operators_with_different_max_parallelism_enabled(self) -> bool:
        """Tell whether operators with different numbers of key groups may be fused."""
        return self._settings.get(options.CHAIN_DIFFERENT_MAX_PARALLELISM)

    def get_checkpoint_config(self) -> CheckpointConfig:
        """Return the settings of checkpoints."""
        return self._checkpoint_config

    def enable_checkpointing(self: _T, interval: int, mode: CheckpointingMode | None = None) -> _T:
        """Take a checkpoint every `interval` milliseconds."""
        self._checkpoint_config.set_checkpoint_interval(interval)
        if mode is not None:
            self._checkpoint_config.set_checkpointing_mode(mode)
        return self

    def get_checkpoint_interval(self) -> int:
        """Return the milliseconds between checkpoints, or -1 when there are none."""
        return self._checkpoint_config.get_checkpoint_interval()

    def get_checkpointing_mode(self) -> CheckpointingMode:
        """Return the guarantee of checkpoints."""
        return self.get_checkpointing_consistency_mode()

    def get_checkpointing_consistency_mode(self) -> CheckpointingMode:
        """Return the guarantee of checkpoints."""
        return self._checkpoint_config.get_checkpointing_mode()

    def is_unaligned_checkpoints_enabled(self) -> bool:
        """Tell whether checkpoints may overtake data."""
        return self._checkpoint_config.is_unaligned_checkpoints_enabled()

    def is_force_unaligned_checkpoints(self) -> bool:
        """Tell whether unaligned checkpoints are forced."""
        return self._checkpoint_config.is_force_unaligned_checkpoints()

    def enable_changelog_state_backend(self: _T, enabled: bool) -> _T:
        """Choose whether changes of state are logged; recorded, without effect."""
        self._settings.set(options.STATE_CHANGELOG, enabled)
        return self

    def is_changelog_state_backend_enabled(self) -> bool | None:
        """Tell whether changes of state are logged; None when it is not set."""
        is_set = self._settings.is_set(options.STATE_CHANGELOG)
        return self._settings.get(options.STATE_CHANGELOG) if is_set else None

    def set_default_savepoint_directory(self: _T, directory: str) -> _T:
        """Set the default folder of savepoints."""
        self._settings.set(options.SAVEPOINT_DIRECTORY, directory)
        return self

    def get_default_savepoint_directory(self) -> str | None:
        """Return the default folder of savepoints."""
        directory: str | None = self._settings.get(options.SAVEPOINT_DIRECTORY)
        return directory

    def configure(self, configuration: Configuration) -> None:
        """Take over all options of a configuration."""
        self._settings.update(configuration._settings)

    def add_python_file(self, file_path: str) -> None:
        """Send a Python file, package or archive with the job; of two that hold the same module the later one wins."""
        self._settings.set(options.PYTHON_FILES, [file_path, *self._settings.get(options.PYTHON_FILES)])

    def set_python_requirements(self, requirements_file_path: str, requirements_cache_dir: str | None = None) -> None:
        """Install the packages of a requirements file for the workers, from a folder of packages if one is given."""
        parts = (requirements_file_path, requirements_cache_dir)
        self._settings.set(options.PYTHON_REQUIREMENTS, "#".join(part for part in parts if part is not None))

    def add_python_archive(self, archive_path: str, target_dir: str | None = None) -> None:
        """Unpack an archive in the working directory of the workers, in `target_dir` or a folder named like it."""
        archive = archive_path if target_dir is None else f"{archive_path}#{target_dir}"
        self._settings.set(options.PYTHON_ARCHIVES, [*self._settings.get(options.PYTHON_ARCHIVES), archive])

    def set_python_executable(self, python_exec: str) -> None:
        """Set the interpreter of the workers."""
        self._settings.set(options.PYTHON_EXECUTABLE, python_exec)

    def add_jars(self, *jars_path: str) -> None:
        """Give jars to Spark."""
        self._settings.set(options.JARS, [*self._settings.get(options.JARS), *jars_path])

    def add_classpaths(self, *classpaths: str) -> None:
        """Give jars that every worker can reach to Spark."""
        self._settings.set(options.CLASSPATHS, [*self._settings.get(options.CLASSPATHS), *classpaths])

    def register_cached_file(self, file_path: str, name: str, executable: bool = False) -> None:
        """Give every worker a copy of a file or folder, which functions find under a name.

        `runtime_context.get_distributed_cache().get_file(name)` returns the path of the copy; with `executable` it can
        be run.
        """
        self._cached_files[name] = (file_path, executable)

    # What follows was removed in PyFlink 2 and works here as it did in Flink 1.x.

    def set_stream_time_characteristic(self, characteristic: TimeCharacteristic) -> None:
        """Choose the time of the program: with ingestion time, elements get the time at which they are read."""
        require_member(TimeCharacteristic, characteristic, "set_stream_time_characteristic()")
        self._settings.set(options.TIME_CHARACTERISTIC, characteristic.name)
        is_processing_time = characteristic is TimeCharacteristic.ProcessingTime
        self._config.set_auto_watermark_interval(0 if is_processing_time else 200)

    def get_stream_time_characteristic(self) -> TimeCharacteristic:
        """Return the time of the program."""
        return TimeCharacteristic[self._settings.get(options.TIME_CHARACTERISTIC)]

    def set_state_backend(self: _T, state_backend: StateBackend) -> _T:
        """Choose how state is kept."""
        for key in self._state_backend.to_options() if self._state_backend is not None else ():
            self._settings.remove(key)
        self._state_backend = state_backend
        self._settings.update(Settings(state_backend.to_options()))
        return self

    def get_state_backend(self) -> StateBackend | None:
        """Return what `set_state_backend` was given, or None."""
        return self._state_backend

    def set_restart_strategy(self, restart_strategy_configuration: RestartStrategyConfiguration) -> None:
        """Choose what happens when a job fails."""
        self._config.set_restart_strategy(restart_strategy_configuration)

    def get_restart_strategy(self) -> RestartStrategyConfiguration:
        """Return what happens when a job fails."""
        return self._config.get_restart_strategy()

    def add_default_kryo_serializer(self, type_class_name: str, serializer_class_name: str) -> None:
        """Record a serializer of a Java class; without effect."""
        self._config.add_default_kryo_serializer(type_class_name, serializer_class_name)

    def register_type_with_kryo_serializer(self, type_class_name: str, serializer_class_name: str) -> None:
        """Record a serializer of a Java class; without effect."""
        self._config.register_type_with_kryo_serializer(type_class_name, serializer_class_name)

    def register_type(self, type_class_name: str) -> None:
        """Record a Java class; without effect."""
        self._config.register_pojo_type(type_class_name)
