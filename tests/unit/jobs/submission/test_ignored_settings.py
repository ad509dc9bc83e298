"""No setting is swallowed: it has an effect, or the user is told that it has none, once for each reason."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from funke.engine.config import flink_options, rest_options
from funke.engine.config.all_options import all_options
from funke.engine.config.config_option import ConfigOption
from funke.engine.config.settings import Settings
from funke.engine.connectors.remote.access import access_of
from funke.engine.errors import ConfigurationError
from funke.engine.jobs.attempts.slot_limit import require_slots
from funke.engine.jobs.submission.ignored_settings import READ_BY_KEY, READ_BY_QUERIES, warn_of_ignored

ROOT = Path(__file__).parents[4]
FLINK_KEYS = ROOT / "tests" / "surface" / "flink-options-2.3.0.txt"
OPTIONS: dict[str, ConfigOption[Any]] = {
    name: option for name, option in vars(flink_options).items() if isinstance(option, ConfigOption)
}


def warnings(options: dict[str, str], capsys: pytest.CaptureFixture[str]) -> list[str]:
    warn_of_ignored(Settings(options))
    return capsys.readouterr().err.splitlines()


@pytest.mark.parametrize(
    ("options", "warned"),
    [
        ({}, []),
        (
            {
                "my.own.key": "1",
                "env.name": "test",
                "client.id": "7",
                "spark.executor.memory": "1g",
                "s3.access-key": "a",
                "funke.home": "/x",
            },
            [],
        ),
        ({"metrics.latency.interval": "0"}, []),
        ({"metrics.latency.interval": "1 s"}, ["metrics.latency.interval has"]),
        ({"execution.checkpointing.incremental": "true"}, ["execution.checkpointing.incremental has"]),
        ({"execution.checkpointing.incremental": "true", "state.backend.type": "rocksdb"}, []),
        ({"taskmanager.numberOfTaskSlots": "4"}, ["taskmanager.numberOfTaskSlots has"]),
        ({"taskmanager.numberOfTaskSlots": "4", "state.backend.type": "rocksdb"}, []),
        ({"taskmanager.numberOfTaskSlots": "4", "spark.master": "yarn"}, []),
        ({"python.fn-execution.bundle.size": "1"}, []),
        ({"python.fn-execution.bundle.size": "10000"}, []),
        ({"execution.checkpointing.unaligned": "true"}, []),
        ({"execution.checkpointing.unaligned.forced": "true"}, ["execution.checkpointing.unaligned.forced has"]),
        ({"execution.checkpointing.aligned-checkpoint-timeout": "5 s"}, []),
        ({"jobmanager.execution.failover-strategy": "full"}, []),
        ({"jobmanager.execution.failover-strategy": "region"}, []),
        ({"execution.checkpointing.intervall": "1 s"}, ["execution.checkpointing.intervall has no effect: Funke has"]),
        ({"paralellism.default": "2"}, ["paralellism.default has no effect: Funke has no such option; did you mean"]),
        ({"web.a": "1", "rest.port": "8082"}, ["web.a has no effect: the service has no such setting"]),
        ({"taskmanager.memory.process.size": "2g", "taskmanager.numberOfTaskSlots": "4"}, []),
        ({"taskmanager.memory.managed.size": "2g"}, ["taskmanager.memory.managed.size has no effect: state in memory"]),
        ({"taskmanager.memory.process.size": "2g", "state.backend.type": "rocksdb"}, []),
        ({"metrics.reporter.p.factory.class": "a.PrometheusReporterFactory", "metrics.reporter.p.port": "1"}, []),
        ({"metrics.reporter.g.factory.class": "a.GraphiteReporterFactory"}, ["metrics.reporter.g.factory.class has"]),
        ({"jobmanager.memory.heap.size": "2g"}, ["jobmanager.memory.heap.size has no effect: spark.driver.memory"]),
    ],
)
def test_who_hears_what(options: dict[str, str], warned: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    lines = warnings(options, capsys)
    assert len(lines) == len(warned), lines
    assert all(line.startswith(f"warning: {start}") for line, start in zip(lines, warned)), lines
    assert all("no effect: " in line for line in lines)


@pytest.mark.parametrize("service", ["zookeeper", "KUBERNETES", "org.company.Services"])
def test_a_service_for_high_availability_is_answered(service: str, capsys: pytest.CaptureFixture[str]) -> None:
    options = {"high-availability.type": service, "high-availability.zookeeper.quorum": "a:2181"}
    quorum, kind = warnings(options, capsys)
    assert quorum.startswith("warning: high-availability.zookeeper.quorum has no effect: job records stand in a folder")
    assert kind.startswith(f"warning: high-availability.type is '{service.lower()}', which is not used: job records")
    assert not warnings({"high-availability.type": "NONE"}, capsys)
    assert not warnings({"high-availability": "filesystem"}, capsys)


def test_queries_read_their_own_options(capsys: pytest.CaptureFixture[str]) -> None:
    keys = (
        "table.exec.mini-batch.enabled",
        "table.exec.emit.early-fire.delay",
        "table.dml-sync",
        "table.exec.state.ttl",
        "table.optimizer.multi-join.enabled",
    )
    assert not warnings(dict.fromkeys(keys, "1"), capsys)
    (said,) = warnings({"table.optimizer.join-reorder-enabled": "true"}, capsys)
    assert said == "warning: table.optimizer.join-reorder-enabled has no effect: queries here have no such option"


def test_every_option_is_read_by_the_engine_or_says_that_it_has_no_effect() -> None:
    """A setter and a getter alone are no effect."""
    readers = (ROOT / "src/funke/engine").rglob("*.py")
    no_readers = ("flink_options.py", "keys_without_effect.py", "ignored_settings.py")
    text = "".join(path.read_text(encoding="utf-8") for path in readers if path.name not in no_readers)
    read = set(re.findall(r"\boptions\.(\w+)", text)) & OPTIONS.keys()
    silent = {name for name, option in OPTIONS.items() if not option.no_effect}
    assert silent - read == set(), "have no effect and do not say so"
    assert read - silent == set(), "have an effect and say that they have none"


def test_every_option_of_the_service_is_read_or_says_that_it_has_no_effect() -> None:
    readers = [path for path in (ROOT / "src/funke").rglob("*.py") if path.name != "rest_options.py"]
    text = "".join(path.read_text(encoding="utf-8") for path in readers)
    options = {name: option for name, option in vars(rest_options).items() if isinstance(option, ConfigOption)}
    read = set(re.findall(r"\b(?:rest_)?options\.(\w+)", text)) & options.keys()
    assert {name for name, option in options.items() if not option.no_effect} == read


def test_flinks_own_keys_have_an_effect_or_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    keys_with_effect = {
        key
        for option in all_options()
        if not option.no_effect and not option.key.startswith("taskmanager.memory.")
        for key in option.keys
    } | {key for option in OPTIONS.values() if not option.no_effect for key in option.keys}
    keys = [line for line in FLINK_KEYS.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    of_queries = [key for key in keys if key in READ_BY_KEY or key.startswith(READ_BY_QUERIES)]
    of_others = [*of_queries, *(key for key in keys if access_of({key: "x"}).hadoop)]
    without_effect = [key for key in keys if key not in keys_with_effect and key not in of_others]
    assert len(without_effect) > 890
    unheard = [key for key in without_effect if [line.split()[1] for line in warnings({key: "77"}, capsys)] != [key]]
    assert not unheard


def test_slots_are_limited_where_one_machine_has_them_all() -> None:
    require_slots(128, Settings(), is_embedded=True)
    require_slots(1000, Settings(), is_embedded=False)
    require_slots(1000, Settings({"slotmanager.number-of-slots.max": "1000"}), is_embedded=True)
    with pytest.raises(ConfigurationError, match=r"needs 129 slots.*at most 128.*slotmanager.number-of-slots.max"):
        require_slots(129, Settings(), is_embedded=True)
    with pytest.raises(ConfigurationError, match=r"needs 9 slots.*at most 8 are allowed"):
        require_slots(9, Settings({"slotmanager.number-of-slots.max": "8"}), is_embedded=False)


def test_what_queries_read_is_known() -> None:
    """Whoever reads a key that is not listed would have users told that it has no effect."""
    sources = "".join(path.read_text() for path in (ROOT / "src" / "funke" / "engine" / "sql").rglob("*.py"))
    keys = set(re.findall(r'"(table\.(?:exec|optimizer)\.[a-z.-]+)"', sources))
    options = {option.key for option in all_options()}
    assert len(keys) > 10
    assert {key for key in keys - options - READ_BY_KEY if not key.startswith(READ_BY_QUERIES)} == set()
