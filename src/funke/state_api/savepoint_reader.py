"""Reads the state in a savepoint or checkpoint: as streams, with functions of the user, and as DataFrames."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from funke.datastream.data_stream import DataStream
from funke.datastream.stream_execution_environment import StreamExecutionEnvironment
from funke.engine.errors import StateError, at_user_line
from funke.engine.jobs.checkpoints.checkpoints import OperatorEntry
from funke.engine.jobs.checkpoints.savepoint_files import Savepoint, open_savepoint
from funke.engine.operators.windowing.assigner import WindowAssigner
from funke.engine.runtime.spark.spark_session import spark_session, use_storage_settings
from funke.engine.state.descriptors import StateDescriptor
from funke.engine.state_processor.functions import KeyedStateReaderFunction
from funke.engine.state_processor.key_reading import KeyReading
from funke.engine.state_processor.own_reading import OwnKind, OwnReading
from funke.engine.state_processor.state_frame import state_names, to_data_frame
from funke.engine.state_processor.state_parts import StatePiece, keyed_pieces, own_pieces
from funke.engine.state_processor.state_source import PieceReading, StateNames, StateSource
from funke.engine.state_processor.state_table import StateTable, TypedStateTable
from funke.engine.types import TupleTypeInfo, TypeInformation
from funke.state_api.operator_identifier import OperatorIdentifier

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from funke.state_api.window_savepoint_reader import WindowSavepointReader

__all__ = ["SavepointReader"]


class SavepointReader:
    """The state in a savepoint, or in a checkpoint that was kept; operators are named by their uid.

    >>> import tempfile
    >>> from funke.common import Types
    >>> from funke.datastream import StreamExecutionEnvironment
    >>> from funke.datastream.state import MapStateDescriptor
    >>> from funke.state_api import (
    ...     BroadcastStateBootstrapFunction, OperatorTransformation, SavepointReader, SavepointWriter
    ... )
    >>> class Limits(BroadcastStateBootstrapFunction):
    ...     def process_element(self, value, ctx):
    ...         descriptor = MapStateDescriptor("limits", Types.STRING(), Types.INT())
    ...         ctx.get_broadcast_state(descriptor).put(*value)
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = f"{folder.name}/first"
    >>> limits = OperatorTransformation.bootstrap_with([("ada", 100)]).transform(Limits())
    >>> _ = SavepointWriter.new_savepoint(128).with_operator("check", limits).write(path)
    >>> reader = SavepointReader.read(StreamExecutionEnvironment.get_execution_environment(), path)
    >>> list(reader.read_broadcast_state("check", "limits").execute_and_collect())
    [('ada', 100)]
    """

    def __init__(self, env: StreamExecutionEnvironment, savepoint: Savepoint) -> None:
        self._env = env
        self._savepoint = savepoint

    @staticmethod
    def read(env: StreamExecutionEnvironment, path: str, state_backend: Any = None) -> SavepointReader:
        """Open a savepoint; whichever state backend wrote it, the form is the same."""
        use_storage_settings(env._settings.to_text_dict())
        return SavepointReader(env, open_savepoint(path))

    def operators(self) -> list[OperatorEntry]:
        """Return the operators that have state here: their names, uids and parallelism."""
        return self._savepoint.stateful_operators()

    def read_keyed_state(
        self,
        identifier: OperatorIdentifier | str,
        function: KeyedStateReaderFunction[Any, Any],
        key_type: TypeInformation | None = None,
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Return what the function yields for every key of an operator."""
        if not isinstance(function, KeyedStateReaderFunction):
            raise TypeError(f"read_keyed_state() needs a KeyedStateReaderFunction, got {type(function).__name__}")
        return self._stream_of_keys(identifier, KeyReading(function), output_type)

    def read_list_state(
        self, identifier: OperatorIdentifier | str, name: str, type_info: TypeInformation | None = None
    ) -> DataStream:
        """Return the elements that all subtasks of an operator have in a list."""
        return self._stream_of_own(identifier, "list", name, type_info)

    def read_union_state(
        self, identifier: OperatorIdentifier | str, name: str, type_info: TypeInformation | None = None
    ) -> DataStream:
        """Return the elements that all subtasks of an operator have in a union list."""
        return self._stream_of_own(identifier, "union", name, type_info)

    def read_broadcast_state(
        self,
        identifier: OperatorIdentifier | str,
        name: str,
        key_type_info: TypeInformation | None = None,
        value_type_info: TypeInformation | None = None,
    ) -> DataStream:
        """Return the (key, value) pairs of broadcast state."""
        pair_type = None
        if key_type_info is not None and value_type_info is not None:
            pair_type = TupleTypeInfo([key_type_info, value_type_info])
        return self._stream_of_own(identifier, "broadcast", name, pair_type)

    def window(self, assigner: WindowAssigner[Any, Any]) -> WindowSavepointReader:
        """Read the contents of windows that an assigner made."""
        from funke.state_api.window_savepoint_reader import WindowSavepointReader

        if not isinstance(assigner, WindowAssigner):
            raise TypeError(f"window() needs a WindowAssigner, got {type(assigner).__name__}")
        return WindowSavepointReader(self)

    def to_data_frame(self, identifier: OperatorIdentifier | str | None = None) -> DataFrame:
        """Return all state of one operator, or of all, as a DataFrame; keys and values are texts.

        Columns: operator, uid, state, kind, namespace (the window), key_group, key, value, ttl_time. Keyed state has
        one row for each key and state; kinds are value, list, map, reducing, aggregating, operator-list, union-list,
        broadcast, event-timer, processing-timer, and internal for what the engine's own operators keep.
        """
        entries = self.operators() if identifier is None else [self._entry(OperatorIdentifier.of(identifier))]
        named = {entry.operator_id: (entry.name, entry.uid) for entry in entries}
        pieces = [
            piece
            for operator_id in named
            for piece in (*keyed_pieces(self._savepoint, operator_id), *own_pieces(self._savepoint, operator_id))
        ]
        return to_data_frame(self._spark(), pieces, StateTable(named))

    def read_state(
        self,
        identifier: OperatorIdentifier | str,
        descriptor: StateDescriptor,
        key_type: TypeInformation | None = None,
    ) -> DataFrame:
        """Return one keyed state as a DataFrame whose values have the descriptor's type.

        Columns: key (a text without `key_type`), namespace, value, key_group, ttl_time.
        """
        operator = OperatorIdentifier.of(identifier)
        entry = self._entry(operator)
        pieces = keyed_pieces(self._savepoint, entry.operator_id)
        if pieces:
            self._require_state(operator, descriptor.name, pieces)
        return to_data_frame(self._spark(), pieces, TypedStateTable.of(descriptor, key_type))

    def _require_state(self, operator: OperatorIdentifier, name: str, pieces: Sequence[StatePiece]) -> None:
        # Mostly the first piece has it, and nothing else needs to be read.
        names: set[str] = set()
        for some in (pieces[:1], pieces[1:]):
            names |= state_names(self._spark(), some)
            if name in names:
                return
        _Check(self._savepoint.path, operator)(StateNames({name}, names))

    def _stream_of_keys(
        self, identifier: OperatorIdentifier | str, reading: PieceReading, output_type: TypeInformation | None
    ) -> DataStream:
        operator = OperatorIdentifier.of(identifier)
        entry = self._entry(operator)
        return self._stream(operator, keyed_pieces(self._savepoint, entry.operator_id), reading, output_type)

    def _stream_of_own(
        self, identifier: OperatorIdentifier | str, kind: OwnKind, name: str, type_info: TypeInformation | None
    ) -> DataStream:
        operator = OperatorIdentifier.of(identifier)
        entry = self._entry(operator)
        pieces = own_pieces(self._savepoint, entry.operator_id)
        return self._stream(operator, pieces, OwnReading(kind, name), type_info)

    def _stream(
        self,
        operator: OperatorIdentifier,
        pieces: Sequence[StatePiece],
        reading: PieceReading,
        type_info: TypeInformation | None,
    ) -> DataStream:
        source = StateSource(pieces, reading, _Check(self._savepoint.path, operator), type_info)
        return self._env._add_source(source, f"State of {operator}", type_info)

    def _entry(self, operator: OperatorIdentifier) -> OperatorEntry:
        try:
            return self._savepoint.require(operator.operator_id, str(operator))
        except StateError as error:
            raise StateError(at_user_line(str(error))) from None

    def _spark(self) -> Any:
        return spark_session(self._env._settings.to_text_dict())


@dataclass(frozen=True)
class _Check:
    """Complains about states that are nowhere in the savepoint."""

    path: str
    operator: OperatorIdentifier

    def __call__(self, names: StateNames) -> None:
        # An operator may have no state left at all; then there is nothing to mistake.
        missing = sorted(names.wanted - names.found)
        if missing and names.found:
            raise StateError(
                f"the operator with {self.operator} has no state named {', '.join(map(repr, missing))} in "
                f"'{self.path}'; it has {', '.join(map(repr, sorted(names.found)))}"
            )
