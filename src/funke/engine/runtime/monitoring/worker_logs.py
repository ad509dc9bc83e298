"""Log lines of user functions: kept in the worker, sent to the driver with the epoch's results, and logged there."""

from __future__ import annotations

import contextlib
import logging
import sys
import time
from collections.abc import Callable, Iterator
from types import FrameType

from funke.engine.config.log_format import log_formatter
from funke.engine.config.log_levels import LogLevels
from funke.engine.operators.operator import Operator
from funke.engine.types.driver_messages import LogLine

__all__ = ["WorkerLogs", "driver_log", "log_in_driver", "worker_logs"]

# Messages below a warning from libraries that Funke itself uses are dropped, unless an override asks for them.
_LIBRARIES = (
    *("asyncio", "boto3", "botocore", "fastavro", "funke", "fsspec", "kafka", "numpy", "pandas", "psycopg", "py4j"),
    *("pyarrow", "pyspark", "rocksdict", "s3fs", "s3transfer", "urllib3"),
)
# So many lines at once, and then so many in a second; the rest is counted.
_MOST_AT_ONCE = 1000
_PER_SECOND = 200.0
_MOST_CHARACTERS = 8192


class WorkerLogs(logging.Handler):
    """Keeps the lines of this process until they are fetched; of too many it keeps the number."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._lines: list[LogLine] = []
        self._dropped = 0
        self._named: set[str] = set()
        self._budget = float(_MOST_AT_ONCE)
        self._refilled = clock()

    def install(self, levels: LogLevels) -> None:
        """Takes everything that is logged in this process from now on."""
        root = logging.getLogger()
        root.handlers[:] = [self]
        root.setLevel(levels.default)
        for name in self._named:
            logging.getLogger(name).setLevel(logging.NOTSET)
        self._named = {name for name, _ in levels.overrides}
        quiet = max(levels.default, logging.WARNING)
        for name, level in (*((name, quiet) for name in _LIBRARIES), *levels.overrides):
            logging.getLogger(name).setLevel(level)

    @contextlib.contextmanager
    def installed(self, levels: LogLevels) -> Iterator[None]:
        """Takes what is logged meanwhile: a Spark worker serves other tasks too."""
        root = logging.getLogger()
        names = (*_LIBRARIES, *(name for name, _ in levels.overrides))
        before = root.handlers[:], root.level, [(name, logging.getLogger(name).level) for name in names]
        self.install(levels)
        try:
            yield
        finally:
            root.handlers[:] = before[0]
            root.setLevel(before[1])
            for name, level in before[2]:
                logging.getLogger(name).setLevel(level)

    def emit(self, record: logging.LogRecord) -> None:
        """Keeps a line, if there is room."""
        if not self._has_room():
            self._dropped += 1
            return
        try:
            text = self.format(record)
        except Exception:
            self.handleError(record)
            return
        if len(text) > _MOST_CHARACTERS:
            text = f"{text[:_MOST_CHARACTERS]}… ({len(text)} characters)"
        self._lines.append(LogLine(record.name, record.levelno, text, record.created, _operator_on_stack()))

    def _has_room(self) -> bool:
        now = self._clock()
        self._budget = min(_MOST_AT_ONCE, self._budget + (now - self._refilled) * _PER_SECOND)
        self._refilled = now
        # Lines that are never fetched count as well: memory is bounded whatever happens.
        if self._budget < 1 or len(self._lines) >= _MOST_AT_ONCE:
            return False
        self._budget -= 1
        return True

    def take(self, otherwise: str = "") -> tuple[LogLine, ...]:
        """The lines since the last time; those of no operator are said to be of `otherwise`."""
        if not self._lines and not self._dropped:
            return ()
        with self.lock or contextlib.nullcontext():
            lines, self._lines = self._lines, []
            dropped, self._dropped = self._dropped, 0
        if dropped:
            text = f"{dropped} log lines were dropped: more than {_PER_SECOND:.0f} a second are not sent to the driver"
            lines.append(LogLine("funke", logging.WARNING, text, time.time()))
        return tuple(line if line.operator else _of(line, otherwise) for line in lines)


def _of(line: LogLine, operator: str) -> LogLine:
    return LogLine(line.logger, line.level, line.text, line.created_s, operator)


def _operator_on_stack() -> str:
    """Name and subtask of the operator that runs: the nearest one on the call stack of the logger.

    Looking it up when a line is logged costs nothing for functions that do not log.
    """
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        this = frame.f_locals.get("self")
        if isinstance(this, Operator):
            context = this.context
            return f"{context.operator_name} ({context.task.subtask + 1}/{context.task.parallelism})"
        frame = frame.f_back
    return ""


# There is one for each process, as there is one root logger.
worker_logs = WorkerLogs()


class DriverLog:
    """Where lines go for which the program has not set up logging."""

    def __init__(self) -> None:
        self.use("text")

    def use(self, kind: str) -> None:
        """Takes the format of `funke.log.format`."""
        self.is_json = kind == "json"
        self._formatter = log_formatter(kind)

    def write(self, record: logging.LogRecord) -> None:
        """Writes a line on standard error."""
        sys.stderr.write(self._formatter.format(record) + "\n")


# There is one standard error for each process.
driver_log = DriverLog()


def log_in_driver(line: LogLine) -> None:
    """Logs a worker's line under its logger here; on standard error when the program has not set up logging."""
    logger = logging.getLogger(line.logger)
    is_apart = driver_log.is_json and not logger.hasHandlers()
    text = f"{line.operator}: {line.text}" if line.operator and not is_apart else line.text
    record = logging.LogRecord(line.logger, line.level, "", 0, text, None, None)
    record.created, record.msecs = line.created_s, line.created_s % 1 * 1000
    if is_apart and line.operator:
        operator, _, subtask = line.operator.rpartition(" ")
        record.__dict__.update(operator=operator, subtask=subtask.strip("()"))
    if not logger.hasHandlers():
        driver_log.write(record)
    elif logger.isEnabledFor(line.level):
        logger.handle(record)
