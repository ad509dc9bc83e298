"""Log lines of user functions on their way from a worker to the driver's log, without Spark."""

from __future__ import annotations

import contextlib
import itertools
import json
import logging
from collections.abc import Iterator

import pytest

from funke.engine.config.log_levels import LogLevels
from funke.engine.config.settings import Settings
from funke.engine.errors import ConfigurationError
from funke.engine.jobs.notices import notice
from funke.engine.operators.operator import Operator, OperatorContext, Output, TaskInfo
from funke.engine.runtime.monitoring.worker_logs import WorkerLogs, driver_log, log_in_driver
from funke.engine.types.driver_messages import LogLine


@pytest.fixture
def logs() -> WorkerLogs:
    return WorkerLogs()


class Logging(Operator):
    """Calls a user function that logs."""

    def process_batch(self, values: list[str], timestamps: list[int] | None) -> None:
        for value in values:
            logging.getLogger("shop.orders").info("saw %s", value)


def operator(name: str, subtask: int) -> Logging:
    operator_ = Logging()
    operator_.setup(OperatorContext(TaskInfo(subtask=subtask, parallelism=4), name, name, Output()))
    return operator_


def test_a_line_names_logger_operator_and_subtask(logs: WorkerLogs) -> None:
    with logs.installed(LogLevels()):
        operator("Map: parse", 2).process_batch(["a"], None)
        logging.info("by a reader")
    first, second = logs.take("slot 2")
    assert (first.logger, first.level, first.text) == ("shop.orders", logging.INFO, "saw a")
    assert first.operator == "Map: parse (3/4)" and second.operator == "slot 2"
    assert logs.take() == ()


def test_levels_filter_at_the_source(logs: WorkerLogs) -> None:
    levels = LogLevels.of(
        Settings({"python.logging.default.level": "WARN", "python.logging.level.overrides": "shop:DEBUG,shop.x:ERROR"})
    )
    with logs.installed(levels):
        logging.info("no")
        logging.warning("yes")
        logging.getLogger("shop.orders").debug("yes, below shop")
        logging.getLogger("shop.x").warning("no")
    assert [line.text for line in logs.take()] == ["yes", "yes, below shop"]


def test_the_level_is_info_unless_said_otherwise(capsys: pytest.CaptureFixture[str]) -> None:
    assert LogLevels.of(Settings()).default == logging.INFO
    assert LogLevels.of(Settings({"python.logging.default.level": "15"})).default == 15
    assert LogLevels.of(Settings({"python.logging.default.level": "off"})).default > logging.CRITICAL
    assert capsys.readouterr().err == ""
    assert LogLevels.of(Settings({"python.logging.default.level": "LOUD"})).default == logging.INFO
    assert LogLevels.of(Settings({"python.logging.level.overrides": "a:LOUD"})).overrides == ()
    assert capsys.readouterr().err.count("knows no level 'LOUD'") == 2


def test_libraries_are_quiet_unless_an_override_asks(logs: WorkerLogs) -> None:
    with logs.installed(LogLevels()):
        for name in ("py4j.clientserver", "botocore.hooks", "funke.engine", "asyncio"):
            logging.getLogger(name).info("chatter")
        logging.getLogger("urllib3").warning("trouble")
    assert [line.text for line in logs.take()] == ["trouble"]
    with logs.installed(LogLevels(overrides=(("botocore", logging.INFO),))):
        logging.getLogger("botocore.hooks").info("wanted")
    assert [line.text for line in logs.take()] == ["wanted"]


def test_a_worker_of_sparks_is_left_as_it_was(logs: WorkerLogs) -> None:
    root, library = logging.getLogger(), logging.getLogger("py4j")
    before = root.handlers[:], root.level, library.level
    with contextlib.suppress(ValueError), logs.installed(LogLevels(default=logging.DEBUG)):
        raise ValueError
    assert (root.handlers, root.level, library.level) == before


def test_too_many_lines_are_counted_and_not_kept() -> None:
    now = 100.0
    logs = WorkerLogs(lambda: now)
    with logs.installed(LogLevels()):
        for number in range(5000):
            logging.info("line %d", number)
        lines = logs.take()
        assert len(lines) == 1001 and lines[999].text == "line 999" and lines[1000].text.startswith("4000 log lines")
        logging.info("still too many")
        assert [line.text.split()[0] for line in logs.take()] == ["1"]
        now += 0.025
        for number in range(10):
            logging.info("later %d", number)
        assert [line.text for line in logs.take()][:4] == ["later 0", "later 1", "later 2", "later 3"]


def test_lines_that_nobody_fetches_are_bounded() -> None:
    seconds = itertools.count()
    logs = WorkerLogs(lambda: float(next(seconds)))
    with logs.installed(LogLevels()):
        for _ in range(3000):
            logging.info("x")
    assert len(logs.take()) == 1001


def test_long_strings_are_cut_and_exceptions_come_as_text(logs: WorkerLogs) -> None:
    with logs.installed(LogLevels()):
        logging.info("y" * 1_000_000)
        try:
            raise KeyError("k")
        except KeyError:
            logging.exception("failed")
    long, failed = logs.take()
    assert len(long.text) < 10_000 and long.text.endswith("(1000000 characters)")
    assert failed.text.startswith("failed\nTraceback") and "KeyError: 'k'" in failed.text


@pytest.fixture
def unconfigured() -> Iterator[logging.Logger]:
    """A logger without any handler, as in a program that has not set up logging."""
    logger = logging.getLogger("nobody.configured.this")
    logger.propagate = False
    yield logger
    logger.propagate = True
    logger.handlers.clear()
    logger.setLevel(logging.NOTSET)


def test_the_driver_writes_lines_to_standard_error_when_logging_is_not_set_up(
    unconfigured: logging.Logger, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unconfigured, "handlers", [])  # pytest adds its own
    log_in_driver(LogLine(unconfigured.name, logging.INFO, "hello", 0.25, "Map (1/2)"))
    assert capsys.readouterr().err.endswith(" INFO  nobody.configured.this - Map (1/2): hello\n")


def test_the_driver_leaves_lines_to_logging_that_is_set_up(
    unconfigured: logging.Logger, capsys: pytest.CaptureFixture[str]
) -> None:
    seen: list[logging.LogRecord] = []
    handler = logging.Handler()
    handler.emit = seen.append  # type: ignore[method-assign]
    unconfigured.addHandler(handler)
    unconfigured.setLevel(logging.WARNING)
    log_in_driver(LogLine(unconfigured.name, logging.INFO, "too low", 1.5, "Map (1/2)"))
    log_in_driver(LogLine(unconfigured.name, logging.ERROR, "100 % of it", 1.5, "Map (1/2)"))
    assert [(record.getMessage(), record.levelname, record.created) for record in seen] == [
        ("Map (1/2): 100 % of it", "ERROR", 1.5)
    ]
    assert capsys.readouterr().err == ""


def test_levels_change_while_it_runs(logs: WorkerLogs) -> None:
    with logs.installed(LogLevels(overrides=(("shop.x", logging.ERROR),))):
        logs.install(LogLevels(logging.WARNING, (("shop", logging.DEBUG),)))
        logging.getLogger("shop.x").debug("its own level is gone")
        logging.info("no")
        logs.install(LogLevels())
        logging.getLogger("shop.y").debug("no")
        logging.info("yes")
    assert [line.text for line in logs.take()] == ["its own level is gone", "yes"]


def test_a_level_that_there_is_not_is_rejected() -> None:
    LogLevels.require("debug", {"shop": "10"})
    with pytest.raises(ConfigurationError, match=r"there is no log level 'LOUD'; expected OFF, .+ or a number"):
        LogLevels.require("INFO", {"shop": "LOUD"})


def test_lines_can_be_json(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    driver_log.use("json")
    try:
        log_in_driver(LogLine("shop", logging.WARNING, 'no "rate"', 1_700_000_000.5, "Map: parse (3/4)"))
        notice("warning: the disk is full")
    finally:
        driver_log.use("text")
    line, noticed = (json.loads(each) for each in capsys.readouterr().err.splitlines())
    assert line == {
        **{"time": "2023-11-14T22:13:20.500+00:00", "level": "WARNING", "logger": "shop"},
        **{"operator": "Map: parse", "subtask": "3/4", "message": 'no "rate"'},
    }
    assert (noticed["level"], noticed["message"]) == ("WARNING", "the disk is full")
