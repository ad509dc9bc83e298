"""What user functions implement to keep state of their own in checkpoints, and to hear what becomes of checkpoints."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from funke.engine.state.interfaces import KeyedStateStore, OperatorStateStore

__all__ = [
    "CheckpointListener",
    "CheckpointedFunction",
    "FunctionInitializationContext",
    "FunctionSnapshotContext",
    "ListCheckpointed",
]


class FunctionSnapshotContext(ABC):
    """What `snapshot_state` can learn about the checkpoint.

    >>> from funke.datastream import CheckpointedFunction
    >>> from funke.datastream.state import FunctionSnapshotContext
    >>> class Announce(CheckpointedFunction):
    ...     def initialize_state(self, context):
    ...         pass
    ...     def snapshot_state(self, context: FunctionSnapshotContext):
    ...         print("checkpoint", context.get_checkpoint_id())
    >>> class Seventh(FunctionSnapshotContext):  # for a test; a job has its own
    ...     def get_checkpoint_id(self):
    ...         return 7
    ...     def get_checkpoint_timestamp(self):
    ...         return 0
    >>> Announce().snapshot_state(Seventh())
    checkpoint 7
    """

    @abstractmethod
    def get_checkpoint_id(self) -> int:
        """Return the number of the checkpoint; later ones have larger numbers."""

    @abstractmethod
    def get_checkpoint_timestamp(self) -> int:
        """Return the processing time in milliseconds at which the checkpoint began."""


class FunctionInitializationContext(ABC):
    """What `initialize_state` is given.

    >>> from funke.datastream import CheckpointedFunction, MapFunction, StreamExecutionEnvironment
    >>> from funke.datastream.state import FunctionInitializationContext
    >>> class Started(MapFunction, CheckpointedFunction):
    ...     def initialize_state(self, context: FunctionInitializationContext):
    ...         self.how = "restored" if context.is_restored() else "new"
    ...     def snapshot_state(self, context):
    ...         pass
    ...     def map(self, value):
    ...         return value, self.how
    >>> env = StreamExecutionEnvironment.get_execution_environment()
    >>> list(env.from_collection(["a"]).map(Started()).execute_and_collect())
    [('a', 'new')]
    """

    @abstractmethod
    def is_restored(self) -> bool:
        """Tell whether the job starts from a checkpoint or savepoint."""

    @abstractmethod
    def get_restored_checkpoint_id(self) -> int | None:
        """Return the number of the checkpoint that the job starts from, None if it starts anew."""

    @abstractmethod
    def get_operator_state_store(self) -> OperatorStateStore:
        """Return the store of state that belongs to the subtask."""

    @abstractmethod
    def get_keyed_state_store(self) -> KeyedStateStore:
        """Return the store of state that belongs to keys; it rejects on a stream without keys."""


class CheckpointedFunction(ABC):
    """A function with state that belongs to its subtasks; inherit from it beside MapFunction or the like.

    >>> from funke.common import Types
    >>> from funke.datastream import CheckpointedFunction, FlatMapFunction, StreamExecutionEnvironment
    >>> from funke.datastream.state import ListStateDescriptor
    >>> class Pairs(FlatMapFunction, CheckpointedFunction):
    ...     def initialize_state(self, context):
    ...         descriptor = ListStateDescriptor("waiting", Types.INT())
    ...         self.checkpointed = context.get_operator_state_store().get_list_state(descriptor)
    ...         self.waiting = list(self.checkpointed.get())
    ...     def snapshot_state(self, context):
    ...         self.checkpointed.update(self.waiting)
    ...     def flat_map(self, value):
    ...         self.waiting.append(value)
    ...         if len(self.waiting) == 2:
    ...             yield tuple(self.waiting)
    ...             self.waiting = []
    >>> env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
    >>> list(env.from_collection([1, 2, 3, 4]).flat_map(Pairs()).execute_and_collect())
    [(1, 2), (3, 4)]
    """

    @abstractmethod
    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        """Bring the state up to date; called in every checkpoint, between two elements."""

    @abstractmethod
    def initialize_state(self, context: FunctionInitializationContext) -> None:
        """Create the state, or take up what a checkpoint holds; called once, before `open`."""


class ListCheckpointed(ABC):
    """The older way: a function that hands over its state as a list, whose elements are dealt out when rescaling.

    >>> from funke.datastream import MapFunction
    >>> from funke.datastream.functions import ListCheckpointed
    >>> class Numbered(MapFunction, ListCheckpointed):
    ...     count = 0
    ...     def snapshot_state(self, checkpoint_id, timestamp):
    ...         return [self.count]
    ...     def restore_state(self, state):
    ...         self.count = sum(state)
    ...     def map(self, value):
    ...         self.count += 1
    ...         return self.count, value
    >>> numbered = Numbered()
    >>> numbered.restore_state([3, 4])  # two subtasks became one
    >>> numbered.map("a")
    (8, 'a')
    """

    @abstractmethod
    def snapshot_state(self, checkpoint_id: int, timestamp: int) -> list[Any]:
        """Return the state of this subtask."""

    @abstractmethod
    def restore_state(self, state: list[Any]) -> None:
        """Take the state back; called before `open`, and only when the job starts from a checkpoint."""


class CheckpointListener:
    """A function that wants to know what becomes of the checkpoints it took part in.

    >>> from funke.datastream import CheckpointListener, MapFunction
    >>> class Announce(MapFunction, CheckpointListener):
    ...     def map(self, value):
    ...         return value
    ...     def notify_checkpoint_complete(self, checkpoint_id):
    ...         print(f"checkpoint {checkpoint_id} is complete")
    >>> Announce().notify_checkpoint_complete(7)  # the job does this
    checkpoint 7 is complete
    """

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        """The checkpoint is complete: the job will never go back behind it."""

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:
        """The checkpoint was given up; what it should have made sure of is left to the next one."""
