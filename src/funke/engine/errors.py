"""Every error Funke raises on purpose, as one tree.

::

    FunkeError
    ├── UnsupportedFeatureError    a part of the API that does not work (yet); also a NotImplementedError
    ├── ConfigurationError         an option or argument is missing, malformed or out of range; also a ValueError
    │   └── SparkUnavailableError  Spark did not start
    ├── GraphError                 the program describes a dataflow that cannot exist
    │   └── MalformedPatternError  a pattern of events that makes no sense
    ├── SqlParserError             a text is not a SQL statement; has the line and column
    ├── SqlValidationError         a statement that has no meaning; also a ValueError
    ├── TypeMismatchError          a value does not fit the declared type; also a TypeError
    ├── SerializationError         a function or value cannot travel between processes
    ├── SourceError                a source cannot be opened or read
    ├── SinkError                  a sink cannot be opened, written or committed
    ├── StateError                 state or a snapshot cannot be read, written or restored
    │   ├── RecoveryRejectedError     a job's checkpoints or record are damaged, and a user has to decide
    │   └── StorageUnavailableError  its storage cannot be reached, which says nothing about what is there
    ├── JavaException              what Flink's tables and catalogs report, by PyFlink's names: flink_exceptions.py
    ├── UntrustedError             a file, folder or process belongs to another user, or did not authenticate;
    │                              also a PermissionError
    └── JobExecutionError          a submitted job failed
        ├── JobCancelledError      it was cancelled before it ended
        ├── LeaseLostError         another driver runs it
        ├── SlotLostError          a worker process disappeared
        └── SlotTimeoutError       no room for its slots was there in time
"""

from __future__ import annotations

import difflib
import os
import sys
from collections.abc import Callable, Iterable
from types import FrameType
from typing import Any, NoReturn, TypeVar

from funke.engine.notebook_cells import cell_name, is_cell, shown_traceback

__all__ = [
    "ConfigurationError",
    "FunkeError",
    "GraphError",
    "JobCancelledError",
    "JobExecutionError",
    "LeaseLostError",
    "MalformedPatternError",
    "RecoveryRejectedError",
    "SerializationError",
    "SinkError",
    "SlotLostError",
    "SlotTimeoutError",
    "SourceError",
    "SparkUnavailableError",
    "SqlParserError",
    "SqlValidationError",
    "StateError",
    "StorageUnavailableError",
    "TypeMismatchError",
    "UnsupportedFeatureError",
    "UntrustedError",
    "at_user_line",
    "did_you_mean",
    "nearest_name",
    "short_traceback",
    "shown_shortly",
    "unsupported",
    "user_line",
]


E = TypeVar("E", bound=BaseException)


def _package_root(file: str) -> str:
    return os.path.dirname(os.path.dirname(os.path.abspath(file))) + os.sep


PACKAGE_ROOT = _package_root(__file__)
# As frames name it: compiled modules that were shipped to another host keep the names of where they were compiled.
PACKAGE_ROOTS = (PACKAGE_ROOT, _package_root(_package_root.__code__.co_filename))
_PYTHON_ROOT = os.path.dirname(os.path.abspath(os.__file__)) + os.sep
_SCRIPTS_ROOT = os.path.dirname(os.path.abspath(sys.executable)) + os.sep
# From which likeness on another name is named to a user who has mistyped one.
_CLOSE = 0.7
# A name that is part of another one counts from this length on.
_WHOLE_PART = 6


class FunkeError(Exception):
    """Base of all errors that Funke raises on purpose."""

    def _render_traceback_(self) -> list[str]:
        # What IPython asks an error for.
        return short_traceback(self)


class UnsupportedFeatureError(FunkeError, NotImplementedError):
    """A feature of Flink's API that Funke does not provide; ``line`` is where the user asked for it."""

    def __init__(self, feature: str, reason: str = "", line: str | None = None) -> None:
        self.feature = feature
        self.reason = reason
        self.line = (user_line() or "") if line is None else line
        text = f"{feature} is not supported" + (f": {reason}" if reason else "")
        super().__init__(_with_line(text, self.line))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.feature, self.reason, self.line)


class ConfigurationError(FunkeError, ValueError):
    """An option or an argument is missing, malformed or out of range."""


class SparkUnavailableError(ConfigurationError):
    """Spark did not start: its master, its options or the machine do not let it."""


class GraphError(FunkeError):
    """The program describes a dataflow that cannot exist."""


class MalformedPatternError(GraphError):
    """A pattern of events that makes no sense.

    >>> from funke.cep import CEP, MalformedPatternException, Pattern
    >>> from funke.datastream import StreamExecutionEnvironment
    >>> readings = StreamExecutionEnvironment.get_execution_environment().from_collection([5, 95])
    >>> try:
    ...     CEP.pattern(readings, Pattern.begin("a").next("a"))
    ... except MalformedPatternException as error:
    ...     print(str(error).splitlines()[0])
    Duplicate pattern name: a. Pattern names must be unique.
    """


class SqlParserError(FunkeError):
    """The text is not a SQL statement; ``line`` and ``column`` count from 1 and are those of the first wrong token."""

    def __init__(self, message: str, line: int, column: int) -> None:
        self.message = message
        self.line = line
        self.column = column
        # As in Flink: a text that ends too early says so without a beginning.
        super().__init__(message if message.startswith('Encountered "<EOF>"') else f"SQL parse failed. {message}")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.message, self.line, self.column)


class TypeMismatchError(FunkeError, TypeError):
    """A value does not fit the type that was declared for it."""


class SqlValidationError(FunkeError, ValueError):
    """A statement that can be read and has no meaning: an unknown name, types that do not go together."""


class SerializationError(FunkeError):
    """A function or value cannot travel between processes."""


class SourceError(FunkeError):
    """A source cannot be opened or read."""


class SinkError(FunkeError):
    """A sink cannot be opened, written or committed."""


class StateError(FunkeError):
    """State or a snapshot cannot be read, written or restored."""


class RecoveryRejectedError(StateError):
    """A job does not go on by itself, because its checkpoints or its record are damaged: a user has to decide."""


class StorageUnavailableError(StateError):
    """The storage of a snapshot cannot be reached, which says nothing about the snapshot."""


class UntrustedError(FunkeError, PermissionError):
    """A file, folder or process belongs to another user, or did not prove its identity."""


class JobExecutionError(FunkeError):
    """A submitted job failed.

    ``operator`` names the step that failed and ``user_traceback`` is the text of the user's own stack. Where it
    happened is given by the ids of the operator, vertex, subtask and slot, as far as they are known.
    """

    # The class of the exception that was raised, and the line at which the program made the operator.
    error_type: str | None = None
    user_line: str | None = None
    operator_id: str | None = None
    vertex_id: int | None = None
    subtask: int | None = None
    slot: int | None = None
    # At which record, if the configuration lets that be shown.
    record: str = ""

    def __init__(self, message: str, operator: str | None = None, user_traceback: str | None = None) -> None:
        self.message = message
        self.operator = operator
        self.user_traceback = user_traceback
        super().__init__(self._text())

    def _text(self) -> str:
        text = f"operator '{self.operator}' failed: {self.message}" if self.operator else self.message
        return f"{text}\n{self.user_traceback.rstrip()}" if self.user_traceback else text

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.message, self.operator, self.user_traceback), self.__dict__


class JobCancelledError(JobExecutionError):
    """The job was cancelled before it ended."""


class LeaseLostError(JobExecutionError):
    """Another driver runs the job: this one must not go on."""


class SlotLostError(JobExecutionError):
    """A worker process disappeared while the job was running."""


class SlotTimeoutError(JobExecutionError):
    """Other jobs, or applications, have had the room for too long."""


def unsupported(feature: str, reason: str = "") -> Callable[..., Any]:
    """Return a callable that raises :class:`UnsupportedFeatureError` when it is called.

    In a class body it stands where the method would stand, ``set_uid_hash = unsupported("set_uid_hash", "…")``;
    the attribute ``unsupported_feature`` lets tools list what is missing.
    """

    def raise_unsupported(*_args: Any, **_kwargs: Any) -> NoReturn:
        raise UnsupportedFeatureError(feature, reason)

    raise_unsupported.__name__ = raise_unsupported.__qualname__ = feature
    raise_unsupported.__doc__ = f"Not supported{': ' + reason if reason else ''}."
    raise_unsupported.unsupported_feature = (feature, reason)  # type: ignore[attr-defined]
    return raise_unsupported


def user_line() -> str | None:
    """Return the nearest line of the calling stack that lies outside Funke, as ``orders.py:42``."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        path = frame.f_code.co_filename
        if not _is_internal(path):
            return f"{cell_name(path) or os.path.basename(path)}:{frame.f_lineno}"
        frame = frame.f_back
    return None


def short_traceback(error: BaseException) -> list[str]:
    """What a notebook shows for an error: the user's own lines and the message."""
    return shown_traceback(error, _is_not_shown)


def shown_shortly(error: E) -> E:
    """An error of Python's, which a notebook shows as it shows Funke's."""
    error._render_traceback_ = lambda: short_traceback(error)  # type: ignore[attr-defined]
    return error


def _is_not_shown(path: str) -> bool:
    return _is_internal(path) or f"-packages{os.sep}IPython{os.sep}" in path


def at_user_line(message: str) -> str:
    """Append the user's own line to ``message``, when there is one on the stack."""
    return _with_line(message, user_line())


def _with_line(message: str, line: str | None) -> str:
    return f"{message}\n  in your job: {line}" if line else message


def _is_internal(path: str) -> bool:
    # Code without a file on disk (exec'd coercers, frozen importlib) is never the user's, except a REPL's "<stdin>".
    if path.startswith("<"):
        return path != "<stdin>" and not is_cell(path)
    path = os.path.abspath(path)
    # Python's own modules start threads and programs; Spark's start workers; the scripts beside Python start `funke`.
    is_python = path.startswith(_PYTHON_ROOT) and "-packages" + os.sep not in path
    is_spark = f"-packages{os.sep}pyspark{os.sep}" in path
    return is_python or is_spark or path.startswith((*PACKAGE_ROOTS, _SCRIPTS_ROOT))


def nearest_name(name: str, names: Iterable[str], closeness: float = _CLOSE, counts_parts: bool = True) -> str | None:
    """The names name that is most like an unknown one, whatever their case, or of which it is a part; None if none is.

    >>> nearest_name("formt", ["topic", "format"]), nearest_name("bootstrap.server", ["properties.bootstrap.servers"])
    ('format', 'properties.bootstrap.servers')
    """
    lowered, by_text = name.lower(), {each.lower(): each for each in sorted(names)}
    if lowered in by_text:
        return by_text[lowered] if by_text[lowered] != name else None
    matches = [each for each in by_text if each.startswith(tuple(lowered + mark for mark in "-._"))][:1]
    matches = matches or difflib.get_close_matches(lowered, by_text, 1, closeness)
    if not matches and counts_parts and len(lowered) >= _WHOLE_PART:
        matches = sorted((each for each in by_text if lowered in each), key=len)
    return by_text[matches[0]] if matches else None


def did_you_mean(name: str, names: Iterable[str], closeness: float = _CLOSE, begin: str = "; did") -> str:
    """The end of a message about an unknown name; nothing when no other is close.

    >>> did_you_mean("nme", ["name", "age"]), did_you_mean("x", ["name", "age"])
    ("; did you mean 'name'?", '')
    """
    meant = nearest_name(name, names, closeness)
    return "" if meant is None else f"{begin} you mean '{meant}'?"
