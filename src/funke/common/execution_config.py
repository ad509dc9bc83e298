"""Settings of one environment that concern how its jobs run."""

from __future__ import annotations

from typing import Any

from funke.common.execution_mode import ExecutionMode
from funke.common.input_dependency_constraint import InputDependencyConstraint
from funke.common.restart_strategy import RestartStrategyConfiguration, read_restart_strategy
from funke.engine.config import flink_options as options
from funke.engine.config.config_option import ConfigOption
from funke.engine.config.settings import Settings
from funke.engine.errors import ConfigurationError, at_user_line
from funke.engine.types.enum_members import require_member
from funke.engine.types.time import Duration

__all__ = ["ExecutionConfig"]


class ExecutionConfig:
    """A view of an environment's configuration; what is set here is set there.

    >>> from funke.common import ExecutionConfig
    >>> from funke.datastream import StreamExecutionEnvironment
    >>> config: ExecutionConfig = StreamExecutionEnvironment.get_execution_environment().get_config()
    >>> _ = config.set_global_job_parameters({"shop": "corner shop"}).set_max_parallelism(720)
    >>> config.get_max_parallelism(), config.get_global_job_parameters()["shop"]
    (720, 'corner shop')
    """

    PARALLELISM_DEFAULT = -1
    PARALLELISM_UNKNOWN = -2

    def __init__(self, settings: Settings | None = None) -> None:
        self._settings = Settings() if settings is None else settings

    def get_parallelism(self) -> int:
        """Return the number of subtasks of operators that do not say otherwise; -1 when it was not set."""
        parallelism = self._settings.get(options.PARALLELISM)
        return self.PARALLELISM_DEFAULT if parallelism is None else int(parallelism)

    def set_parallelism(self, parallelism: int) -> ExecutionConfig:
        """Set the number of subtasks; -1 returns to the default."""
        if parallelism == self.PARALLELISM_UNKNOWN:
            return self
        if parallelism < 1 and parallelism != self.PARALLELISM_DEFAULT:
            raise ConfigurationError(
                at_user_line(f"parallelism must be at least 1, or -1 (default), got {parallelism}")
            )
        return self._set(options.PARALLELISM, parallelism)

    def get_max_parallelism(self) -> int:
        """Return the number of key groups; -1 when it was not set."""
        return int(self._settings.get(options.MAX_PARALLELISM))

    def set_max_parallelism(self, max_parallelism: int) -> ExecutionConfig:
        """Set the number of key groups, which limits how far a job can be rescaled."""
        if max_parallelism < 1:
            raise ConfigurationError(at_user_line(f"max parallelism must be greater than 0, got {max_parallelism}"))
        return self._set(options.MAX_PARALLELISM, max_parallelism)

    def get_auto_watermark_interval(self) -> int:
        """Return the milliseconds between periodic watermarks."""
        return self._get_ms(options.AUTO_WATERMARK_INTERVAL)

    def set_auto_watermark_interval(self, interval: int) -> ExecutionConfig:
        """Set the milliseconds between periodic watermarks; 0 turns them off."""
        if interval < 0:
            raise ConfigurationError(at_user_line(f"auto watermark interval must not be negative, got {interval}"))
        return self._set(options.AUTO_WATERMARK_INTERVAL, Duration.of_millis(interval))

    def get_latency_tracking_interval(self) -> int:
        """Return the milliseconds between latency marks."""
        return self._get_ms(options.LATENCY_INTERVAL)

    def set_latency_tracking_interval(self, interval: int) -> ExecutionConfig:
        """Set the milliseconds between latency marks; recorded, without effect."""
        return self._set(options.LATENCY_INTERVAL, Duration.of_millis(max(interval, 0)))

    def get_task_cancellation_interval(self) -> int:
        """Return the milliseconds between attempts to cancel a task."""
        return self._get_ms(options.TASK_CANCELLATION_INTERVAL)

    def set_task_cancellation_interval(self, interval: int) -> ExecutionConfig:
        """Set the milliseconds between attempts to cancel a task."""
        return self._set(options.TASK_CANCELLATION_INTERVAL, Duration.of_millis(interval))

    def get_task_cancellation_timeout(self) -> int:
        """Return the milliseconds after which a stuck cancellation is fatal."""
        return self._get_ms(options.TASK_CANCELLATION_TIMEOUT)

    def set_task_cancellation_timeout(self, timeout: int) -> ExecutionConfig:
        """Set the milliseconds after which a stuck cancellation is fatal; 0 turns the limit off."""
        if timeout < 0:
            raise ConfigurationError(at_user_line(f"task cancellation timeout must not be negative, got {timeout}"))
        return self._set(options.TASK_CANCELLATION_TIMEOUT, Duration.of_millis(timeout))

    def enable_auto_generated_uids(self) -> ExecutionConfig:
        """Let operators without a uid get one by themselves."""
        return self._set(options.AUTO_GENERATE_UIDS, True)

    def disable_auto_generated_uids(self) -> ExecutionConfig:
        """Demand a uid for every operator."""
        return self._set(options.AUTO_GENERATE_UIDS, False)

    def has_auto_generated_uids_enabled(self) -> bool:
        """Whether operators without a uid get one by themselves."""
        return self._settings.get(options.AUTO_GENERATE_UIDS)

    def enable_object_reuse(self) -> ExecutionConfig:
        """Pass records on without copies."""
        return self._set(options.OBJECT_REUSE, True)

    def disable_object_reuse(self) -> ExecutionConfig:
        """Do not share records between operators."""
        return self._set(options.OBJECT_REUSE, False)

    def is_object_reuse_enabled(self) -> bool:
        """Whether records are passed on without copies."""
        return self._settings.get(options.OBJECT_REUSE)

    def get_global_job_parameters(self) -> dict[str, str]:
        """Return the parameters that every function can read."""
        return self._get_map(options.GLOBAL_JOB_PARAMETERS)

    def set_global_job_parameters(self, global_job_parameters_dict: dict[str, Any]) -> ExecutionConfig:
        """Set the parameters that every function can read; values become text."""
        strings = {key: str(value) for key, value in global_job_parameters_dict.items()}
        return self._set(options.GLOBAL_JOB_PARAMETERS, strings)

    def is_use_snapshot_compression(self) -> bool:
        """Whether snapshots are compressed."""
        return self._settings.get(options.SNAPSHOT_COMPRESSION)

    def set_use_snapshot_compression(self, use_snapshot_compression: bool) -> ExecutionConfig:
        """Choose whether snapshots are compressed."""
        return self._set(options.SNAPSHOT_COMPRESSION, use_snapshot_compression)

    def get_restart_strategy(self) -> RestartStrategyConfiguration:
        """Return what happens when a job fails (Flink 1.x)."""
        return read_restart_strategy(self._settings)

    def set_restart_strategy(self, restart_strategy_configuration: RestartStrategyConfiguration) -> ExecutionConfig:
        """Choose what happens when a job fails (Flink 1.x)."""
        restart_strategy_configuration.write_to(self._settings)
        return self

    # What follows concerns Java objects and schedulers of Flink. It is recorded and answered, and changes nothing.

    def enable_closure_cleaner(self) -> ExecutionConfig:
        """Recorded; Python functions need no cleaning."""
        return self._set(options.CLOSURE_CLEANER_LEVEL, "RECURSIVE")

    def disable_closure_cleaner(self) -> ExecutionConfig:
        """Recorded; Python functions need no cleaning."""
        return self._set(options.CLOSURE_CLEANER_LEVEL, "NONE")

    def is_closure_cleaner_enabled(self) -> bool:
        """Return what was recorded."""
        return self._settings.get(options.CLOSURE_CLEANER_LEVEL) != "NONE"

    def enable_force_kryo(self) -> ExecutionConfig:
        """Recorded; Python objects do not pass through Kryo."""
        return self._set(options.FORCE_KRYO, True)

    def disable_force_kryo(self) -> ExecutionConfig:
        """Recorded; Python objects do not pass through Kryo."""
        return self._set(options.FORCE_KRYO, False)

    def is_force_kryo_enabled(self) -> bool:
        """Return what was recorded."""
        return self._settings.get(options.FORCE_KRYO)

    def enable_generic_types(self) -> ExecutionConfig:
        """Recorded; Python objects do not pass through Kryo."""
        return self._set(options.GENERIC_TYPES, True)

    def disable_generic_types(self) -> ExecutionConfig:
        """Recorded; Python objects do not pass through Kryo."""
        return self._set(options.GENERIC_TYPES, False)

    def has_generic_types_disabled(self) -> bool:
        """Return what was recorded."""
        return not self._settings.get(options.GENERIC_TYPES)

    def enable_force_avro(self) -> ExecutionConfig:
        """Recorded; Python objects do not pass through Avro."""
        return self._set(options.FORCE_AVRO, True)

    def disable_force_avro(self) -> ExecutionConfig:
        """Recorded; Python objects do not pass through Avro."""
        return self._set(options.FORCE_AVRO, False)

    def is_force_avro_enabled(self) -> bool:
        """Return what was recorded."""
        return self._settings.get(options.FORCE_AVRO)

    def add_default_kryo_serializer(self, type_class_name: str, serializer_class_name: str) -> ExecutionConfig:
        """Recorded (Flink 1.x)."""
        return self._put(options.DEFAULT_KRYO_SERIALIZERS, type_class_name, serializer_class_name)

    def get_default_kryo_serializer_classes(self) -> dict[str, str]:
        """Return what was recorded."""
        return self._get_map(options.DEFAULT_KRYO_SERIALIZERS)

    def register_type_with_kryo_serializer(self, type_class_name: str, serializer_class_name: str) -> ExecutionConfig:
        """Recorded (Flink 1.x)."""
        return self._put(options.REGISTERED_KRYO_SERIALIZERS, type_class_name, serializer_class_name)

    def get_registered_types_with_kryo_serializer_classes(self) -> dict[str, str]:
        """Return what was recorded (Flink 1.x)."""
        return self._get_map(options.REGISTERED_KRYO_SERIALIZERS)

    def register_kryo_type(self, type_class_name: str) -> ExecutionConfig:
        """Recorded (Flink 1.x)."""
        return self._append(options.REGISTERED_KRYO_TYPES, type_class_name)

    def get_registered_kryo_types(self) -> list[str]:
        """Return what was recorded."""
        return self._get_list(options.REGISTERED_KRYO_TYPES)

    def register_pojo_type(self, type_class_name: str) -> ExecutionConfig:
        """Recorded (Flink 1.x)."""
        return self._append(options.REGISTERED_POJO_TYPES, type_class_name)

    def get_registered_pojo_types(self) -> list[str]:
        """Return what was recorded."""
        return self._get_list(options.REGISTERED_POJO_TYPES)

    def disable_auto_type_registration(self) -> ExecutionConfig:
        """Recorded (Flink 1.x)."""
        return self._set(options.AUTO_TYPE_REGISTRATION, False)

    def is_auto_type_registration_disabled(self) -> bool:
        """Return what was recorded (Flink 1.x)."""
        return not self._settings.get(options.AUTO_TYPE_REGISTRATION)

    def get_execution_mode(self) -> ExecutionMode:
        """Return what was recorded (Flink 1.x)."""
        return ExecutionMode[self._settings.get(options.EXECUTION_MODE)]

    def set_execution_mode(self, execution_mode: ExecutionMode) -> ExecutionConfig:
        """Recorded (Flink 1.x)."""
        mode = require_member(ExecutionMode, execution_mode, "set_execution_mode()")
        return self._set(options.EXECUTION_MODE, mode.name)

    def get_default_input_dependency_constraint(self) -> InputDependencyConstraint:
        """Return what was recorded (Flink 1.x)."""
        return InputDependencyConstraint[self._settings.get(options.INPUT_DEPENDENCY_CONSTRAINT)]

    def set_default_input_dependency_constraint(
        self, input_dependency_constraint: InputDependencyConstraint
    ) -> ExecutionConfig:
        """Recorded (Flink 1.x)."""
        asker = "set_default_input_dependency_constraint()"
        constraint = require_member(InputDependencyConstraint, input_dependency_constraint, asker)
        return self._set(options.INPUT_DEPENDENCY_CONSTRAINT, constraint.name)

    def _set(self, option: ConfigOption[Any], value: Any) -> ExecutionConfig:
        self._settings.set(option, value)
        return self

    def _put(self, option: ConfigOption[dict[str, str]], key: str, value: str) -> ExecutionConfig:
        return self._set(option, {**self._get_map(option), key: value})

    def _append(self, option: ConfigOption[list[str]], item: str) -> ExecutionConfig:
        items = self._get_list(option)
        return self if item in items else self._set(option, [*items, item])

    def _get_map(self, option: ConfigOption[dict[str, str]]) -> dict[str, str]:
        return self._settings.get(option).copy()

    def _get_list(self, option: ConfigOption[list[str]]) -> list[str]:
        return self._settings.get(option).copy()

    def _get_ms(self, option: ConfigOption[Any]) -> int:
        duration: Duration = self._settings.get(option)
        return duration.to_millis()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ExecutionConfig) and self._settings == other._settings

    def __hash__(self) -> int:
        return hash(self._settings)
