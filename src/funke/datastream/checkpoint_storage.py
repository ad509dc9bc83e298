"""Where checkpoints are written."""

from __future__ import annotations

import posixpath
import re
from abc import ABC
from typing import Any

from funke.engine.config import flink_options as options
from funke.engine.errors import ConfigurationError, UnsupportedFeatureError

__all__ = [
    "CheckpointStorage",
    "JobManagerCheckpointStorage",
    "FileSystemCheckpointStorage",
    "CustomCheckpointStorage",
]

_STORAGE = options.CHECKPOINT_STORAGE.key
_DIRECTORY = options.CHECKPOINTS_DIRECTORY.key
_MAX_STATE_SIZE = options.MAX_STATE_SIZE.key
_SMALL_FILE_THRESHOLD = "execution.checkpointing.data-inline-threshold"
_WRITE_BUFFER = "execution.checkpointing.write-buffer-size"
_DEFAULT_FILE_THRESHOLD = 20 * 1024
_DEFAULT_WRITE_BUFFER = 4096


class CheckpointStorage(ABC):
    """A place for checkpoints.

    >>> from funke.datastream import CheckpointStorage, FileSystemCheckpointStorage, StreamExecutionEnvironment
    >>> storage: CheckpointStorage = FileSystemCheckpointStorage("file:///tmp/checkpoints")
    >>> config = StreamExecutionEnvironment.get_execution_environment().get_checkpoint_config()
    >>> _ = config.set_checkpoint_storage(storage)
    >>> sorted(storage.to_options())
    ['execution.checkpointing.dir', 'execution.checkpointing.storage']
    """

    def to_options(self) -> dict[str, str]:
        """Return the options that choose this place."""
        return {}


class JobManagerCheckpointStorage(CheckpointStorage):
    """Keeps checkpoints in the memory of the coordinator, up to a size.

    >>> from funke.datastream import JobManagerCheckpointStorage
    >>> JobManagerCheckpointStorage(max_state_size=10 * 1024 * 1024).get_max_state_size()
    10485760
    """

    DEFAULT_MAX_STATE_SIZE = 5 * 1024 * 1024

    def __init__(self, checkpoint_path: str | None = None, max_state_size: int | None = None) -> None:
        if max_state_size is not None and max_state_size <= 0:
            raise ConfigurationError(f"max_state_size must be greater than 0, got {max_state_size}")
        self._checkpoint_path = checkpoint_path
        self._max_state_size = max_state_size or self.DEFAULT_MAX_STATE_SIZE

    def get_checkpoint_path(self) -> str | None:
        """Return the directory for checkpoint metadata, or None."""
        return None if self._checkpoint_path is None else to_flink_path(self._checkpoint_path)

    def get_max_state_size(self) -> int:
        """Return how many bytes the state of one subtask may have."""
        return self._max_state_size

    def get_savepoint_path(self) -> str | None:
        """Return the default directory for savepoints; this storage has none."""
        return None

    def to_options(self) -> dict[str, str]:
        """Return the options that choose this place."""
        directory = {} if self._checkpoint_path is None else {_DIRECTORY: self._checkpoint_path}
        return {_STORAGE: "jobmanager", _MAX_STATE_SIZE: f"{self._max_state_size} bytes", **directory}

    def __str__(self) -> str:
        return f"JobManagerCheckpointStorage (checkpoints to JobManager) ( maxStateSize: {self._max_state_size})"


class FileSystemCheckpointStorage(CheckpointStorage):
    """Writes checkpoints into a directory.

    >>> from funke.datastream import FileSystemCheckpointStorage, StreamExecutionEnvironment
    >>> config = StreamExecutionEnvironment.get_execution_environment().get_checkpoint_config()
    >>> _ = config.set_checkpoint_storage(FileSystemCheckpointStorage("file:///tmp/checkpoints"))
    >>> config.get_checkpoint_storage().get_checkpoint_path()
    'file:/tmp/checkpoints'
    """

    MAX_FILE_STATE_THRESHOLD = 1024 * 1024

    def __init__(
        self,
        checkpoint_path: str | None = None,
        file_state_size_threshold: int | None = None,
        write_buffer_size: int = -1,
    ) -> None:
        if checkpoint_path is None:
            raise ValueError("checkpoint_path must not be None")
        self._checkpoint_path = checkpoint_path
        self._file_state_size_threshold = require_threshold(file_state_size_threshold, self.MAX_FILE_STATE_THRESHOLD)
        self._write_buffer_size = write_buffer_size

    def get_checkpoint_path(self) -> str:
        """Return the directory."""
        return to_flink_path(self._checkpoint_path)

    def get_savepoint_path(self) -> str | None:
        """Return the default directory for savepoints; this storage has none."""
        return None

    def get_min_file_size_threshold(self) -> int:
        """Return up to how many bytes state is written into the metadata instead of a file."""
        return self._file_state_size_threshold if self._file_state_size_threshold >= 0 else _DEFAULT_FILE_THRESHOLD

    def get_write_buffer_size(self) -> int:
        """Return how many bytes are collected before they are written."""
        return self._write_buffer_size if self._write_buffer_size >= 0 else _DEFAULT_WRITE_BUFFER

    def to_options(self) -> dict[str, str]:
        """Return the options that choose this place."""
        chosen = {_STORAGE: "filesystem", _DIRECTORY: self._checkpoint_path}
        if self._file_state_size_threshold >= 0:
            chosen[_SMALL_FILE_THRESHOLD] = f"{self._file_state_size_threshold} bytes"
        if self._write_buffer_size >= 0:
            chosen[_WRITE_BUFFER] = str(self._write_buffer_size)
        return chosen

    def __str__(self) -> str:
        return f"FileSystemCheckpointStorage (checkpoints to {self.get_checkpoint_path()})"


class CustomCheckpointStorage(CheckpointStorage):
    """PyFlink's wrapper of a storage class of the JVM.

    >>> from funke.datastream import CustomCheckpointStorage
    >>> CustomCheckpointStorage("a class of the JVM")  # FileSystemCheckpointStorage works
    Traceback (most recent call last):
        ...
    funke.engine.errors.UnsupportedFeatureError: CustomCheckpointStorage is not supported: it wraps a class...
    """

    def __init__(self, storage: Any) -> None:
        raise UnsupportedFeatureError("CustomCheckpointStorage", "it wraps a class of Flink's JVM")


def require_threshold(threshold: int | None, maximum: int) -> int:
    """Return the threshold, or -1 for the default; a larger one than `maximum` is rejected."""
    value = -1 if threshold is None else threshold
    if not -1 <= value <= maximum:
        raise ConfigurationError(f"file_state_size_threshold must be from -1 to {maximum}, got {value}")
    return value


def to_flink_path(path: str) -> str:
    """Return a path the way Flink prints it.

    >>> to_flink_path("file:///tmp/a//b/"), to_flink_path("hdfs://nn:9000/a/")
    ('file:/tmp/a/b', 'hdfs://nn:9000/a')
    """
    match = re.fullmatch(r"(?:([A-Za-z][A-Za-z0-9+.-]*):)?(?://([^/]*))?(.*)", path)
    assert match is not None
    scheme, authority, rest = match.groups()
    prefix = (f"{scheme}:" if scheme else "") + (f"//{authority}" if authority else "")
    normal = posixpath.normpath(re.sub(r"/+", "/", rest)) if rest.strip("/") else rest
    return prefix + normal
