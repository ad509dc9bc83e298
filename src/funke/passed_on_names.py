"""Names that PyFlink's modules can be asked for although they come from another module, and where they are here.

PyFlink's `datastream.window` happens to import `Time`, so programs import it from there. What a module passes on is
looked up on access: the imports would be circular or slow, and other programs do not need them.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

__all__ = ["pass_on_names"]

_STATES = (
    "ValueState ValueStateDescriptor ListState ListStateDescriptor MapState MapStateDescriptor ReducingState "
    "ReducingStateDescriptor AggregatingState AggregatingStateDescriptor BroadcastState ReadOnlyBroadcastState"
)
# The row schemas that Flink 1.x kept in `common`.
_ROW_SCHEMAS = {
    f"datastream.formats.{module}": f"{prefix}RowSerializationSchema {prefix}RowDeserializationSchema"
    for module, prefix in (("json", "Json"), ("csv", "Csv"), ("avro", "Avro"))
}
# By module, then by where the names are. Modules are written without `funke.`.
_NAMES: dict[str, dict[str, str]] = {
    "common": _ROW_SCHEMAS | {"common.serialization": "SimpleStringEncoder"},
    "common.job_client": {"engine.types.job_status": "JobStatus"},
    "common.serialization": _ROW_SCHEMAS,
    "datastream.async_data_stream": {
        "common": "TypeInformation",
        "datastream": "async_retry_strategies",
    },
    "datastream.async_retry_strategies": {
        "datastream": "AsyncRetryPredicate AsyncRetryStrategy",
        "engine.operators.functions.async_functions": "OUT",
    },
    "datastream.connectors.file_system": {
        "common": "Duration Encoder",
        "common.serialization": "BulkWriterFactory RowDataBulkWriterFactory",
        "datastream": "SinkFunction",
        "datastream.connectors": "Sink Source",
        "datastream.connectors.base": "StreamTransformer SupportsPreprocessing",
    },
    "datastream.connectors.kafka": {
        "common": "Row Types typeinfo",
    },
    "datastream.connectors.pulsar": {"common": "ConfigOptions"},
    "datastream.data_stream": {
        "common": "ExecutionConfig Row Types WatermarkStrategy typeinfo",
        "common.typeinfo": "RowTypeInfo",
        "common.watermark_strategy": "TimestampAssigner",
        "datastream": (
            "AggregateFunction BroadcastProcessFunction CoFlatMapFunction CoMapFunction CoProcessFunction "
            "KeyedBroadcastProcessFunction KeyedCoProcessFunction MergingWindowAssigner Partitioner "
            "ProcessWindowFunction RuntimeContext SinkFunction SlotSharingGroup Trigger WindowFunction"
        ),
        "datastream.connectors": "Sink",
        "datastream.functions": (
            "AllWindowFunction AsyncFunctionDescriptor Function FunctionWrapper NullByteKeySelector "
            "PassThroughAllWindowFunction PassThroughWindowFunction ProcessAllWindowFunction"
        ),
        "datastream.state": (
            "AggregatingStateDescriptor ListStateDescriptor ReducingState ReducingStateDescriptor StateDescriptor"
        ),
        "datastream.window": (
            "CountSlidingWindowAssigner CountTumblingWindowAssigner CountWindowSerializer GlobalWindowSerializer "
            "TimeWindowSerializer"
        ),
    },
    "datastream.formats.avro": {"common": "TypeInformation"},
    "datastream.formats.json": {"common": "typeinfo"},
    "datastream.functions": {
        "datastream": "TimeDomain",
        "datastream.state": _STATES,
        "engine.operators.functions.broadcast_functions": "IN1 IN2",
        "engine.operators.functions.window_functions": "IN KEY OUT W W2",
        "metrics": "MetricGroup",
    },
    "datastream.output_tag": {"common": "TypeInformation Types", "common.typeinfo": "RowTypeInfo"},
    "datastream.state": {
        "common": "Duration Time TypeInformation Types",
        "engine.state.interfaces": "IN K OUT T V",
    },
    "datastream.stream_execution_environment": {
        # Three of these come from Flink 1.x: RestartStrategies, StateBackend, TimeCharacteristic.
        "common": "TypeInformation ExecutionConfig RestartStrategies Types WatermarkStrategy",
        "datastream": (
            "CheckpointConfig CheckpointingMode DataStream RuntimeExecutionMode SlotSharingGroup SourceFunction "
            "StateBackend TimeCharacteristic"
        ),
        "datastream.connectors": "Source",
    },
    "datastream.window": {
        "common": "Time Types",
        "datastream": "OutputTag ReduceFunction RuntimeContext",
        "datastream.state": "ReducingState ReducingStateDescriptor State StateDescriptor ValueStateDescriptor",
        "engine.operators.functions.window_functions": "IN KEY OUT W W2",
        "engine.operators.windowing.assigner": "T",
        "metrics": "MetricGroup",
    },
    "table.compiled_plan": {"table": "ExplainDetail TableResult"},
    "table.statement_set": {"table": "CompiledPlan"},
    "table.table": {
        "table": "ExplainDetail TableSchema",
        "table.catalog": "ResolvedSchema",
        "table.types": "create_arrow_schema",
        "table.expressions": "with_columns without_columns",
    },
    "table.table_environment": {
        "common": "TypeInformation",
        "datastream": "DataStream",
        "table": "BatchTableEnvironment ChangelogMode CompiledPlan Module ModuleEntry PlanReference Schema",
        "table.catalog": "Catalog CatalogDescriptor",
        "table.model_descriptor": "ModelDescriptor",
        "table.environments.stream_table_environment": "StreamTableEnvironment",
        "table.types": "RowField create_arrow_schema from_arrow_type",
        "table.udf": "AggregateFunction TableAggregateFunction UserDefinedFunctionWrapper udaf udtaf",
    },
    "table.table_pipeline": {"table": "CompiledPlan"},
    "table.table_result": {"common": "RowKind"},
}


def pass_on_names(module: str) -> None:
    """Let a module that is being imported give out what PyFlink's module of that name passes on."""
    modules = {
        name: f"funke.{module_name}"
        for module_name, names in _NAMES[module.removeprefix("funke.")].items()
        for name in names.split()
    }

    def find(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        return getattr(import_module(modules[name]), name)

    # Set from here: mypy takes a module that says `__getattr__` itself to have every name.
    sys.modules[module].__dict__["__getattr__"] = find
