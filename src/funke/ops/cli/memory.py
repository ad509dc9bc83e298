"""`funke memory`: Flink's memory model for the configuration, drawn in the terminal."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from funke.engine.config import flink_options as options
from funke.engine.config.memory_model import (
    DriverMemory,
    MemoryModelError,
    WorkerMemory,
    driver_memory,
    size_text,
    worker_memory,
)
from funke.engine.config.settings import Settings
from funke.engine.config.slot_memory import slot_memory_limit
from funke.ops.cli.properties import settings_with
from funke.ops.cli.terminal import new_parser, print_json

__all__ = ["memory_lines", "show_memory"]

_BAR = 40
_WORKER_PARTS = (
    ("framework heap", "framework_heap"),
    ("task heap", "task_heap"),
    ("managed", "managed"),
    ("framework off-heap", "framework_off_heap"),
    ("task off-heap", "task_off_heap"),
    ("network", "network"),
    ("JVM metaspace", "jvm_metaspace"),
    ("JVM overhead", "jvm_overhead"),
)
_DRIVER_PARTS = (
    ("heap", "heap"),
    ("off-heap", "off_heap"),
    ("JVM metaspace", "jvm_metaspace"),
    ("JVM overhead", "jvm_overhead"),
)


def show_memory(arguments: list[str]) -> None:
    """Print what follows from the sizes that the configuration names."""
    parser = new_parser("memory", "shows Flink's memory model for the configuration")
    command_line = parser.parse_args(arguments)
    settings = settings_with(command_line.properties)
    if command_line.json:
        print_json(_to_json(settings))
        return
    print("\n".join(memory_lines(settings)))


def _to_json(settings: Settings) -> dict[str, Any]:
    models: dict[str, Any] = {}
    for name, derive in (("taskmanager", worker_memory), ("jobmanager", driver_memory)):
        try:
            memory: WorkerMemory | DriverMemory = derive(settings)
        except MemoryModelError as error:
            models[name] = {"error": str(error)}
            continue
        models[name] = {
            **asdict(memory),
            "total_flink": memory.total_flink,
            "total_process": memory.total_process,
            "jvm_arguments": memory.jvm_arguments(),
        }
    return models


def memory_lines(settings: Settings) -> list[str]:
    """The drawing: parts with their sizes, bars and what they mean for slots."""
    lines: list[str] = []
    try:
        worker = worker_memory(settings)
        lines += _drawn("Worker (taskmanager.memory.…)", worker, _WORKER_PARTS)
        slots = max(1, settings.get(options.TASK_SLOTS))
        lines.append(f"  each of {slots} slots has {size_text(worker.managed // slots)} of managed memory, for RocksDB")
        limit = slot_memory_limit(settings)
        lines.append("  and fails when it has more than " + size_text(limit.size) if limit else "  without a limit")
    except MemoryModelError as error:
        lines += ["Worker (taskmanager.memory.…)", f"  {error}"]
    try:
        lines += ["", *_drawn("Driver (jobmanager.memory.…)", driver_memory(settings), _DRIVER_PARTS)]
    except MemoryModelError as error:
        lines += ["", "Driver (jobmanager.memory.…)", f"  {error}"]
    return lines


def _drawn(title: str, memory: WorkerMemory | DriverMemory, parts: tuple[tuple[str, str], ...]) -> list[str]:
    total = memory.total_process
    lines = [title]
    for name, attribute in parts:
        size = getattr(memory, attribute)
        bar = "█" * round(_BAR * size / total) if total else ""
        lines.append(f"  {name:<19} {_megabytes(size):>12}  {bar}")
    lines.append(f"  {'total Flink memory':<19} {_megabytes(memory.total_flink):>12}")
    lines.append(f"  {'total process':<19} {_megabytes(total):>12}")
    lines.append("  " + " ".join(memory.jvm_arguments()))
    return lines


def _megabytes(size: int) -> str:
    return f"{size / (1 << 20):,.1f} mb"
