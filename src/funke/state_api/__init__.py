"""The State Processor: reads the state in savepoints and checkpoints, and writes savepoints that jobs start from."""

from __future__ import annotations

from funke.engine.state_processor.functions import (
    BroadcastStateBootstrapFunction,
    KeyedStateBootstrapFunction,
    KeyedStateReaderFunction,
    StateBootstrapFunction,
    WindowReaderFunction,
)
from funke.state_api.operator_identifier import OperatorIdentifier
from funke.state_api.operator_transformation import (
    KeyedStateTransformation,
    OneInputStateTransformation,
    OperatorTransformation,
    StateBootstrapTransformation,
    WindowedStateTransformation,
)
from funke.state_api.savepoint_reader import SavepointReader
from funke.state_api.savepoint_writer import SavepointWriter
from funke.state_api.window_savepoint_reader import EvictingWindowSavepointReader, WindowSavepointReader

__all__ = [
    "SavepointReader",
    "WindowSavepointReader",
    "EvictingWindowSavepointReader",
    "SavepointWriter",
    "OperatorIdentifier",
    "OperatorTransformation",
    "OneInputStateTransformation",
    "KeyedStateTransformation",
    "WindowedStateTransformation",
    "StateBootstrapTransformation",
    "KeyedStateReaderFunction",
    "WindowReaderFunction",
    "KeyedStateBootstrapFunction",
    "StateBootstrapFunction",
    "BroadcastStateBootstrapFunction",
]
