"""Writes savepoints: new ones, or changed copies of others."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from funke.datastream.operator_settings import require_max_parallelism
from funke.datastream.stream_execution_environment import StreamExecutionEnvironment
from funke.engine.config.job_defaults import job_defaults
from funke.engine.errors import StateError, at_user_line
from funke.engine.jobs.checkpoints.savepoint_files import Savepoint, open_savepoint
from funke.engine.runtime.snapshots.snapshot_files import SnapshotHandle, delete_folder, list_folder
from funke.engine.runtime.spark.spark_session import spark_session, use_storage_settings
from funke.engine.state_processor.savepoint_writing import (
    Changes,
    copy_commands,
    copy_snapshot_file,
    reject_existing,
    write_metadata,
)
from funke.engine.state_processor.state_frame import run_on_pieces
from funke.engine.types.keys.key_groups import NEWEST_KEY_HASH
from funke.state_api.bootstrap_job import NewOperator, run_bootstrap_jobs
from funke.state_api.operator_identifier import OperatorIdentifier
from funke.state_api.operator_transformation import StateBootstrapTransformation

__all__ = ["SavepointWriter"]

_DEFAULT_MAX_PARALLELISM = 128


class SavepointWriter:
    """Gathers what a savepoint is to hold; `write` makes it.

    >>> import tempfile
    >>> from funke.common import Types
    >>> from funke.datastream import StreamExecutionEnvironment
    >>> from funke.datastream.state import ListStateDescriptor
    >>> from funke.state_api import OperatorTransformation, SavepointReader, SavepointWriter, StateBootstrapFunction
    >>> class Waiting(StateBootstrapFunction):
    ...     def initialize_state(self, context):
    ...         descriptor = ListStateDescriptor("waiting", Types.INT())
    ...         self.waiting = context.get_operator_state_store().get_list_state(descriptor)
    ...     def process_element(self, value, ctx):
    ...         self.waiting.add(value)
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = f"{folder.name}/first"
    >>> waiting = OperatorTransformation.bootstrap_with([1, 2]).transform(Waiting())
    >>> _ = SavepointWriter.new_savepoint(128).with_operator("pairs", waiting).write(path)
    >>> env = StreamExecutionEnvironment.get_execution_environment()
    >>> [each.uid for each in SavepointReader.read(env, path).operators()]
    ['pairs']
    """

    def __init__(self, base: Savepoint | None, max_parallelism: int) -> None:
        self._base = base
        self._max_parallelism = max_parallelism
        self._changes = Changes()
        self._added: dict[str, NewOperator] = {}
        self._configuration: dict[str, Any] = {}

    @staticmethod
    def new_savepoint(
        env: StreamExecutionEnvironment | int, state_backend: Any = None, max_parallelism: int | None = None
    ) -> SavepointWriter:
        """Begin an empty savepoint for a job with so many key groups.

        As in Flink, `new_savepoint(env, max_parallelism)` and `new_savepoint(env, state_backend, max_parallelism)`;
        neither environment nor backend matter, so the number alone will do.
        """
        numbers = [number for number in (env, state_backend, max_parallelism) if isinstance(number, int)]
        if len(numbers) != 1:
            raise TypeError("new_savepoint() needs the maximum parallelism of the job, once")
        require_max_parallelism(numbers[0], "the maximum parallelism of a savepoint")
        _use_storage_settings_of(env)
        return SavepointWriter(None, numbers[0])

    @staticmethod
    def from_existing_savepoint(
        env: StreamExecutionEnvironment | str, path: str | None = None, state_backend: Any = None
    ) -> SavepointWriter:
        """Begin with a copy of a savepoint, or of a checkpoint that was kept; the path alone will do."""
        owner = path if path is not None else env
        if not isinstance(owner, str):
            raise TypeError(f"from_existing_savepoint() needs the path of a savepoint, got {type(owner).__name__}")
        _use_storage_settings_of(env)
        base = open_savepoint(owner)
        parallelisms = [entry.max_parallelism for entry in base.stateful_operators()]
        return SavepointWriter(base, max(parallelisms, default=_DEFAULT_MAX_PARALLELISM))

    def with_operator(
        self, identifier: OperatorIdentifier | str, transformation: StateBootstrapTransformation
    ) -> SavepointWriter:
        """Add an operator with the state that a transformation makes; one that is there must be removed first."""
        operator = OperatorIdentifier.of(identifier)
        if not isinstance(transformation, StateBootstrapTransformation):
            raise TypeError(
                f"with_operator() needs what transform() returns, got {type(transformation).__name__}; "
                "OperatorTransformation.bootstrap_with(...) makes it"
            )
        if operator.operator_id in self._current_ids():
            raise StateError(
                at_user_line(f"the savepoint has an operator with {operator} already; call remove_operator() first")
            )
        max_parallelism = transformation.max_parallelism or self._max_parallelism
        self._added[operator.operator_id] = NewOperator(operator, transformation, max_parallelism)
        return self

    def remove_operator(self, identifier: OperatorIdentifier | str) -> SavepointWriter:
        """Leave an operator's state out."""
        operator = OperatorIdentifier.of(identifier)
        if self._added.pop(operator.operator_id, None) is None:
            old_id = self._old_id(operator)
            self._changes.renamed.pop(old_id, None)
            self._changes.removed.add(old_id)
        return self

    def change_operator_identifier(
        self, from_identifier: OperatorIdentifier | str, to_identifier: OperatorIdentifier | str
    ) -> SavepointWriter:
        """Give an operator's state to an operator with another uid."""
        old, new = OperatorIdentifier.of(from_identifier), OperatorIdentifier.of(to_identifier)
        if new.operator_id in self._current_ids():
            raise StateError(at_user_line(f"the savepoint has an operator with {new} already"))
        added = self._added.pop(old.operator_id, None)
        if added is not None:
            self._added[new.operator_id] = replace(added, identifier=new)
            return self
        old_id = self._old_id(old)
        assert self._base is not None
        self._changes.renamed[old_id] = replace(
            self._base.operator(old_id),
            operator_id=new.operator_id,
            has_user_uid=new.uid is not None,
            uid=new.uid,
        )
        return self

    def with_configuration(self, option: Any, value: Any) -> SavepointWriter:
        """Set an option of the job that makes the state, such as the state backend."""
        self._configuration[getattr(option, "key", option)] = value
        return self

    def write(self, path: str) -> None:
        """Make the savepoint in a folder; when this returns, a job can start from it.

        Unlike in Flink, nothing is left to execute: state is made by a job that runs now.
        """
        folder = path.rstrip("/")
        reject_existing(folder)
        was_empty = not list_folder(folder)
        try:
            self._write(folder)
        except BaseException:
            if was_empty:
                delete_folder(folder)
            raise

    def _write(self, folder: str) -> None:
        added = list(self._added.values())
        key_hash = NEWEST_KEY_HASH if self._base is None else self._base.checkpoint.key_hash
        new_snapshots = run_bootstrap_jobs(added, folder, self._configuration, key_hash)
        kept: tuple[SnapshotHandle, ...] = ()
        if self._base is not None:
            spark = spark_session(job_defaults().to_text_dict())
            commands = copy_commands(folder, self._base, self._changes)
            kept = tuple(run_on_pieces(spark, commands, copy_snapshot_file))
        write_metadata(
            folder, self._base, self._changes, (*kept, *new_snapshots), [operator.entry for operator in added]
        )

    def _current_ids(self) -> set[str]:
        kept = self._base.checkpoint.stateful_ids() if self._base is not None else set()
        return {*self._added, *(new for old in kept if (new := self._changes.id_of(old)) is not None)}

    def _old_id(self, operator: OperatorIdentifier) -> str:
        """The id that an operator had in the savepoint that this one begins with."""
        kept = self._base.checkpoint.stateful_ids() if self._base is not None else set()
        for old in kept:
            if self._changes.id_of(old) == operator.operator_id:
                return old
        if self._base is None:
            raise StateError(at_user_line(f"the new savepoint has no operator with {operator}"))
        self._base.require(operator.operator_id, str(operator))
        raise StateError(at_user_line(f"the operator with {operator} was removed or renamed already"))


def _use_storage_settings_of(env: Any) -> None:
    settings = env._settings if isinstance(env, StreamExecutionEnvironment) else job_defaults()
    use_storage_settings(settings.to_text_dict())
