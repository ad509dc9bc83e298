"""Settings that Flink has and Funke accepts without acting on them: reports them once per job."""

from __future__ import annotations

import sys
from typing import Any

from funke.engine.config import flink_options as options
from funke.engine.config import memory_options, reporters
from funke.engine.config.all_options import all_options
from funke.engine.config.config_option import ConfigOption
from funke.engine.config.keys_without_effect import UNKNOWN, reason_without_effect
from funke.engine.config.nearest_key import nearest_key
from funke.engine.config.settings import Settings
from funke.engine.config.slot_memory import slot_memory_limit
from funke.engine.errors import ConfigurationError
from funke.engine.runtime.spark.spark_session import spark_master

__all__ = ["READ_BY_KEY", "READ_BY_QUERIES", "warn_of_ignored"]

_OPTIONS: dict[str, ConfigOption[Any]] = {key: option for option in all_options() for key in option.keys}
# Read elsewhere.
READ_BY_KEY = frozenset({"table.exec.sink.upsert-materialize"})
# Read where queries are planned, and by the shell: what such keys begin with.
READ_BY_QUERIES = (
    "sql-client.execution.max-table-result.rows",
    "sql-client.execution.result-mode",
    "table.builtin-catalog-name",
    "table.builtin-database-name",
    "python.fn-execution.arrow.batch.size",
    "table.dml-sync",
    "table.exec.async-lookup.",
    "table.exec.async-scalar.",
    "table.exec.emit.",
    "table.exec.interval-join.min-cleanup-interval",
    "table.exec.mini-batch.",
    "table.exec.sink.keyed-shuffle",
    "table.exec.sink.not-null-enforcer",
    "table.exec.sink.require-on-conflict",
    "table.exec.source.idle-timeout",
    "table.exec.state.ttl",
    "table.local-time-zone",
    "table.optimizer.agg-phase-strategy",
    "table.optimizer.multi-join.enabled",
    "table.optimizer.non-deterministic-update.strategy",
    "table.optimizer.reuse-source-enabled",
    "table.optimizer.reuse-sub-plan-enabled",
    "table.sql-dialect",
)
# What RocksDB alone makes use of, or the limit of a slot's memory if there is one.
_FOR_ROCKSDB = {
    options.INCREMENTAL_CHECKPOINTS.key: "state in memory is written completely; use rocksdb",
    options.TASK_SLOTS.key: "a job has as many slots as it needs; only memory is divided by it, and no size is set",
    **{
        option.key: "state in memory takes what it needs as long as no size is set; only rocksdb has managed memory"
        for option in vars(memory_options).values()
        if isinstance(option, ConfigOption) and option.key.startswith("taskmanager.memory.")
    },
}
# Names of what keeps job records in Flink.
_HIGH_AVAILABILITY_SERVICES = ("zookeeper", "kubernetes")


def warn_of_ignored(settings: Settings) -> None:
    """Writes a line for every reason why settings have no effect."""
    keys_by_reason: dict[str, list[str]] = {}
    for key in sorted(settings):
        reason = _reason(key, settings)
        if reason:
            keys_by_reason.setdefault(reason, []).append(key)
    for reason, keys in keys_by_reason.items():
        sys.stderr.write(f"warning: {', '.join(keys)} {'has' if len(keys) == 1 else 'have'} no effect: {reason}\n")
    service = str(settings.get(options.HIGH_AVAILABILITY) or "").lower()
    if service in _HIGH_AVAILABILITY_SERVICES or "." in service:
        sys.stderr.write(
            f"warning: {options.HIGH_AVAILABILITY.key} is '{service}', which is not used: job records stand in a "
            f"folder ({options.HIGH_AVAILABILITY_STORAGE.key}), under a lease; `funke recover` goes on with jobs whose "
            "driver has died\n"
        )


def _reason(key: str, settings: Settings) -> str:
    option = _OPTIONS.get(key)
    if key.startswith(reporters.PREFIX):
        return _reason_of_reporter(key, settings)
    if option is None:
        is_read = key in READ_BY_KEY or key.startswith(READ_BY_QUERIES)
        return "" if is_read else _with_suggestion(key, reason_without_effect(key))
    try:
        value = settings.get(option)
    except ConfigurationError:  # its reader reports it
        return option.no_effect
    return "" if value == option.default else option.no_effect or _reason_here(option, settings)


def _with_suggestion(key: str, reason: str) -> str:
    """A suggestion for an unknown key; a key of the program's own needs none."""
    if reason not in ("", UNKNOWN):
        return reason
    meant = nearest_key(key)
    return reason if meant is None else f"{UNKNOWN}; did you mean {meant}?"


def _reason_of_reporter(key: str, settings: Settings) -> str:
    by_name = {each.name: each for each in reporters.reporters_of(settings) if each.kind}
    name, _, rest = key[len(reporters.PREFIX) :].partition(".")
    if name in by_name:
        return "" if by_name[name].reads(rest) else "reporters have no such setting here"
    return reason_without_effect(key)


def _reason_here(option: ConfigOption[Any], settings: Settings) -> str:
    """Why an option has no effect together with the others."""
    if option.key.startswith("security.ssl.") and not settings.get(options.SSL_ENABLED):
        return f"{options.SSL_ENABLED.key} is not true"
    is_rocksdb = str(settings.get(options.STATE_BACKEND)).lower() == "rocksdb"
    is_of_limit = option is not options.INCREMENTAL_CHECKPOINTS and _has_memory_limit(settings)
    # On a cluster the size of executors follows from it.
    is_of_cluster = option is options.TASK_SLOTS and not spark_master(settings.to_text_dict()).startswith("local")
    return "" if is_rocksdb or is_of_limit or is_of_cluster else _FOR_ROCKSDB.get(option.key, "")


def _has_memory_limit(settings: Settings) -> bool:
    try:
        return slot_memory_limit(settings) is not None
    except ConfigurationError:  # its reader reports it
        return False
