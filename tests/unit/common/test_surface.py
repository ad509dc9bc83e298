"""The names that PyFlink programs import."""

from __future__ import annotations

import importlib

import pytest

import funke.common
from funke.util.exceptions import JavaException, TableException

PYFLINK_ALL = [
    "Configuration",
    "ConfigOption",
    "ConfigOptions",
    "ExecutionConfig",
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
    "ExecutionMode",
]


def test_common_exports_what_pyflink_exports() -> None:
    assert set(funke.common.__all__) == set(PYFLINK_ALL)
    assert all(hasattr(funke.common, name) for name in PYFLINK_ALL)


def test_unknown_names_are_attribute_errors() -> None:
    with pytest.raises(AttributeError, match=r"'funke.common' has no attribute 'Nothing'"):
        _ = funke.common.Nothing
    with pytest.raises(ImportError):
        exec("from funke.common.serialization import Nothing")


@pytest.mark.parametrize(
    ("module", "names"),
    [
        ("typeinfo", "BasicType BasicTypeInfo RowTypeInfo TupleTypeInfo ListTypeInfo MapTypeInfo LocalTimeTypeInfo"),
        ("typeinfo", "PickledBytesTypeInfo ExternalTypeInfo InstantTypeInfo SqlTimeTypeInfo DateTypeInfo TimeTypeInfo"),
        ("watermark_strategy", "WatermarkStrategy TimestampAssigner AssignerWithPeriodicWatermarksWrapper"),
        ("serialization", "BulkWriterFactory RowDataBulkWriterFactory RowFieldExtractorSchema"),
        ("time", "Duration Instant Time"),
        ("types", "Row RowKind"),
        ("execution_mode", "ExecutionMode"),
    ],
)
def test_modules_have_pyflinks_names(module: str, names: str) -> None:
    imported = importlib.import_module(f"funke.common.{module}")
    assert all(hasattr(imported, name) for name in names.split())


def test_exceptions_of_tables_are_java_exceptions() -> None:
    with pytest.raises(JavaException, match="no such table") as info:
        raise TableException("no such table")
    assert info.value.stack_trace == str(info.value) == "no such table"
