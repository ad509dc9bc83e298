"""Classes that streams and tables share: configuration, types, rows, times, watermark strategies, job clients."""

from __future__ import annotations

from funke.common.completable_future import CompletableFuture
from funke.common.config_options import ConfigOption, ConfigOptions
from funke.common.configuration import Configuration
from funke.common.execution_config import ExecutionConfig
from funke.common.execution_mode import ExecutionMode
from funke.common.input_dependency_constraint import InputDependencyConstraint
from funke.common.job_client import JobClient
from funke.common.job_execution_result import JobExecutionResult
from funke.common.job_id import JobID
from funke.common.job_status import JobStatus
from funke.common.restart_strategy import RestartStrategies, RestartStrategyConfiguration
from funke.common.serialization import (
    ByteArraySchema,
    DeserializationSchema,
    Encoder,
    SerializationSchema,
    SimpleStringSchema,
)
from funke.common.serializer import TypeSerializer
from funke.common.time import Duration, Instant, Time
from funke.common.typeinfo import TypeInformation, Types
from funke.common.types import Row, RowKind
from funke.common.watermark_strategy import AssignerWithPeriodicWatermarksWrapper, WatermarkStrategy
from funke.passed_on_names import pass_on_names

__all__ = [
    "Configuration",
    "ConfigOption",
    "ConfigOptions",
    "ExecutionConfig",
    "ExecutionMode",
    "TypeInformation",
    "TypeSerializer",
    "Types",
    "SerializationSchema",
    "DeserializationSchema",
    "SimpleStringSchema",
    "ByteArraySchema",
    "Encoder",
    "CompletableFuture",
    "InputDependencyConstraint",
    "JobClient",
    "JobExecutionResult",
    "JobID",
    "JobStatus",
    "RestartStrategies",
    "RestartStrategyConfiguration",
    "Row",
    "RowKind",
    "WatermarkStrategy",
    "Duration",
    "Instant",
    "Time",
    "AssignerWithPeriodicWatermarksWrapper",
]

pass_on_names(__name__)
