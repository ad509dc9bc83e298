"""State handles, their descriptors, and how long state lives."""

from __future__ import annotations

from funke.engine.state.checkpointed import (
    CheckpointedFunction,
    CheckpointListener,
    FunctionInitializationContext,
    FunctionSnapshotContext,
)
from funke.engine.state.descriptors import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
    ValueStateDescriptor,
)
from funke.engine.state.interfaces import (
    AggregatingState,
    AppendingState,
    BroadcastState,
    KeyedStateStore,
    ListState,
    MapState,
    MergingState,
    OperatorStateStore,
    ReadOnlyBroadcastState,
    ReducingState,
    State,
    ValueState,
)
from funke.engine.state.ttl.config import StateTtlConfig
from funke.passed_on_names import pass_on_names

__all__ = [
    "State",
    "StateDescriptor",
    "ValueStateDescriptor",
    "ValueState",
    "AppendingState",
    "MergingState",
    "ListStateDescriptor",
    "ListState",
    "MapStateDescriptor",
    "MapState",
    "ReducingStateDescriptor",
    "ReducingState",
    "AggregatingStateDescriptor",
    "AggregatingState",
    "ReadOnlyBroadcastState",
    "BroadcastState",
    "StateTtlConfig",
    "OperatorStateStore",
    "KeyedStateStore",
    "CheckpointedFunction",
    "CheckpointListener",
    "FunctionInitializationContext",
    "FunctionSnapshotContext",
]

pass_on_names(__name__)
