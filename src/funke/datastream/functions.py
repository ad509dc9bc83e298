"""User-defined functions: from plain mapping to process, window, broadcast and asynchronous functions."""

from __future__ import annotations

from funke.engine.operators.functions.async_functions import (
    AsyncFunction,
    AsyncFunctionDescriptor,
    AsyncRetryPredicate,
    AsyncRetryStrategy,
)
from funke.engine.operators.functions.broadcast_functions import (
    BaseBroadcastProcessFunction,
    BroadcastProcessFunction,
    KeyedBroadcastProcessFunction,
)
from funke.engine.operators.functions.join_functions import (
    CoGroupFunction,
    FlatJoinFunction,
    JoinFunction,
    ProcessJoinFunction,
)
from funke.engine.operators.functions.process_functions import (
    CoProcessFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    ProcessFunction,
)
from funke.engine.operators.functions.runtime_context import RuntimeContext, TimerService
from funke.engine.operators.functions.window_functions import (
    AllWindowFunction,
    InternalProcessAllWindowContext,
    InternalProcessWindowContext,
    PassThroughAllWindowFunction,
    PassThroughWindowFunction,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    WindowFunction,
)
from funke.engine.operators.keyed.aggregations import FoldFunction
from funke.engine.state.checkpointed import (
    CheckpointedFunction,
    CheckpointListener,
    FunctionInitializationContext,
    FunctionSnapshotContext,
    ListCheckpointed,
)
from funke.engine.state.interfaces import KeyedStateStore
from funke.engine.types.functions import (
    AggregateFunction,
    CoFlatMapFunction,
    CoMapFunction,
    FilterFunction,
    FlatMapFunction,
    Function,
    FunctionWrapper,
    KeySelector,
    MapFunction,
    NullByteKeySelector,
    Partitioner,
    ReduceFunction,
    ReduceFunctionWrapper,
    SinkFunction,
    SourceFunction,
)
from funke.passed_on_names import pass_on_names

__all__ = [
    "RuntimeContext",
    "Function",
    "MapFunction",
    "CoMapFunction",
    "FlatMapFunction",
    "CoFlatMapFunction",
    "ReduceFunction",
    "AggregateFunction",
    "KeySelector",
    "NullByteKeySelector",
    "FilterFunction",
    "FoldFunction",
    "Partitioner",
    "FunctionWrapper",
    "ReduceFunctionWrapper",
    "SourceFunction",
    "SinkFunction",
    "ProcessFunction",
    "CoProcessFunction",
    "KeyedProcessFunction",
    "KeyedCoProcessFunction",
    "KeyedStateStore",
    "TimerService",
    "WindowFunction",
    "AllWindowFunction",
    "ProcessWindowFunction",
    "ProcessAllWindowFunction",
    "PassThroughWindowFunction",
    "PassThroughAllWindowFunction",
    "InternalProcessWindowContext",
    "InternalProcessAllWindowContext",
    "BaseBroadcastProcessFunction",
    "BroadcastProcessFunction",
    "KeyedBroadcastProcessFunction",
    "JoinFunction",
    "FlatJoinFunction",
    "CoGroupFunction",
    "ProcessJoinFunction",
    "AsyncFunction",
    "AsyncFunctionDescriptor",
    "AsyncRetryPredicate",
    "AsyncRetryStrategy",
    "CheckpointedFunction",
    "CheckpointListener",
    "FunctionInitializationContext",
    "FunctionSnapshotContext",
    "ListCheckpointed",
]

pass_on_names(__name__)
