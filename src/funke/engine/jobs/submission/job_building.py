"""From an environment's nodes and settings to what the engine is given: a graph and job settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from funke import alias
from funke.engine.config import flink_options as options
from funke.engine.config.option_values import parse_boolean, parse_map
from funke.engine.config.settings import Settings
from funke.engine.errors import ConfigurationError, GraphError
from funke.engine.graph.aligned_partitions import with_aligned_partitions
from funke.engine.graph.operations import BuiltInMap, Filter, FlatMap, Map, OneByOne, Operation, ReadSource
from funke.engine.graph.stream_graph import StreamGraph
from funke.engine.jobs.settings import JobSettings
from funke.engine.jobs.submission.needless_jars import without_needless

DEFAULT_JOB_NAME = "Flink Streaming Job"
# Without a timeout records wait until there are many: an epoch that is due by itself lets a second pass.
_NO_TIMEOUT_MS = 1_000
DEFAULT_BATCH_JOB_NAME = "Flink Batch Job"


def job_graph_of(nodes: StreamGraph, roots: set[int], settings: Settings, job_name: str | None) -> StreamGraph:
    """The graph of a job: the given nodes and all that they need, with the environment's defaults."""
    graph = nodes.with_only_ancestors_of(roots)
    if settings.get(options.AUTO_GENERATE_UIDS) is False:
        _require_uids(graph)
    _reject_second_readers(graph)
    is_batch = runs_in_batch_mode(graph, settings)
    if not is_batch and _has_small_bundles(settings):
        graph = _one_by_one(graph)
    default_name = DEFAULT_BATCH_JOB_NAME if is_batch else DEFAULT_JOB_NAME
    max_parallelism = settings.get(options.MAX_PARALLELISM)
    graph = replace(
        graph,
        job_name=job_name or settings.get(options.JOB_NAME) or default_name,
        default_parallelism=max(1, settings.get(options.PARALLELISM) or 1),
        default_max_parallelism=max_parallelism if max_parallelism > 0 else None,
        is_chaining_enabled=settings.get(options.OPERATOR_CHAINING),
        is_chaining_across_max_parallelism_enabled=settings.get(options.CHAIN_DIFFERENT_MAX_PARALLELISM),
        is_python_chaining_enabled=settings.get(options.PYTHON_OPERATOR_CHAINING),
        is_batch=is_batch,
    )
    return with_aligned_partitions(graph)


def _reject_second_readers(graph: StreamGraph) -> None:
    """Two readers of a replication slot would each get a part of the changes."""
    readers: dict[str, str] = {}
    for node in graph.nodes.values():
        resource = node.operation.source.sole_reader_of if isinstance(node.operation, ReadSource) else None
        if resource is None:
            continue
        if resource in readers:
            raise ConfigurationError(
                f"the sources '{readers[resource]}' and '{node.name}' both read the {resource}, which has one reader; "
                "give each source a slot of its own ('slot.name'), or read the table once: equal sources of one "
                "statement set are shared unless 'table.optimizer.reuse-source-enabled' or "
                "'table.optimizer.reuse-sub-plan-enabled' is false"
            )
        readers[resource] = node.name


def _has_small_bundles(settings: Settings) -> bool:
    """Whether the program asks that records do not wait for each other."""
    is_set = settings.is_set(options.PYTHON_BUNDLE_SIZE)
    return is_set and settings.get(options.PYTHON_BUNDLE_SIZE) <= options.SMALL_BUNDLE


def _one_by_one(graph: StreamGraph) -> StreamGraph:
    """The graph with functions that let results go although the next record takes long."""
    nodes = {node.id: replace(node, operation=_unhurried(node.operation)) for node in graph.nodes.values()}
    return replace(graph, nodes=nodes)


def _unhurried(operation: Operation) -> Operation:
    if not isinstance(operation, (Map, FlatMap, Filter)) or operation.key_selector is not None:
        return operation
    if isinstance(operation, BuiltInMap):
        return operation
    module = getattr(operation.function, "__module__", None) or type(operation.function).__module__
    is_own = module.partition(".")[0] == "funke"
    return operation if is_own else OneByOne(operation)


def runs_in_batch_mode(graph: StreamGraph, settings: Settings) -> bool:
    """Whether the job gives one result at the end: by choice, or automatically when all sources are bounded."""
    unbounded = [node for node in graph.nodes.values() if _is_unbounded(node.operation)]
    mode = settings.get(options.RUNTIME_MODE)
    if mode == "BATCH" and unbounded:
        raise GraphError(
            f"'{unbounded[0].title}' is unbounded, so the job cannot run in BATCH mode; "
            "set execution.runtime-mode to STREAMING or AUTOMATIC"
        )
    return bool(mode == "BATCH" or (mode == "AUTOMATIC" and not unbounded))


def _is_unbounded(operation: Any) -> bool:
    return isinstance(operation, ReadSource) and not operation.source.is_bounded


def _require_uids(graph: StreamGraph) -> None:
    missing = next((node for node in graph.nodes.values() if node.uid is None and node.uid_hash is None), None)
    if missing is not None:
        where = f"\n  in your job: {missing.user_line}" if missing.user_line else ""
        raise GraphError(f"'{missing.title}' needs a uid: automatic uids are switched off{where}")


def job_settings_of(
    graph: StreamGraph, settings: Settings, cached_files: Mapping[str, tuple[str, bool]]
) -> JobSettings:
    """The environment's settings at this moment; objects among them are in the form in which they travel."""
    requirements = settings.get(options.PYTHON_REQUIREMENTS)
    return JobSettings(
        job_name=graph.job_name,
        configuration=settings.to_text_dict(),
        job_parameters=settings.get(options.GLOBAL_JOB_PARAMETERS).copy(),
        auto_watermark_interval_ms=settings.get(options.AUTO_WATERMARK_INTERVAL).to_millis(),
        buffer_timeout_ms=_buffer_timeout_ms(graph, settings),
        is_batch=graph.is_batch,
        python_files=_split_at_commas(settings.get(options.PYTHON_FILES)),
        python_archives=tuple(_split_at_hash(item) for item in _split_at_commas(settings.get(options.PYTHON_ARCHIVES))),
        python_requirements=_split_at_hash(requirements) if requirements else None,
        python_executable=settings.get(options.PYTHON_EXECUTABLE),
        jars=without_needless((*settings.get(options.JARS), *settings.get(options.CLASSPATHS))),
        cached_files={**_configured_files(settings.get(options.CACHED_FILES)), **cached_files},
        startup=("funke.alias:install",) if alias.is_installed() else (),
    )


def _buffer_timeout_ms(graph: StreamGraph, settings: Settings) -> int:
    """The shortest buffer timeout of all operators, which paces a job in epochs."""
    own = [node.buffer_timeout_ms for node in graph.nodes.values() if node.buffer_timeout_ms is not None]
    if not settings.get(options.BUFFER_TIMEOUT_ENABLED):
        return min(own, default=_NO_TIMEOUT_MS)
    return int(min([*own, settings.get(options.BUFFER_TIMEOUT).to_millis()]))


def _configured_files(items: list[str]) -> dict[str, tuple[str, bool]]:
    """Registered files as Flink writes them in a configuration: `name:table,path:/data/table.csv,executable:false`."""
    files = {}
    for item in items:
        fields = parse_map(item)
        if not {"name", "path"} <= fields.keys():
            raise ConfigurationError(f"{options.CACHED_FILES.key} needs name:…,path:… for every file, got '{item}'")
        files[fields["name"]] = fields["path"], parse_boolean(fields.get("executable", "false"))
    return files


def _split_at_commas(items: list[str]) -> tuple[str, ...]:
    # Flink separates files by commas inside one value.
    return tuple(part.strip() for item in items for part in item.split(",") if part.strip())


def _split_at_hash(item: str) -> tuple[str, str | None]:
    path, _, target = item.partition("#")
    return path, target or None
