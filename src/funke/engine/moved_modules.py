"""Lets pickles find classes whose module has another name now.

Checkpoints and savepoints name classes by their module. A module that holds such a class stands in this table under the
name that it had in earlier versions, for as long as those savepoints can be restored.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

__all__ = ["MOVED_MODULES", "install_finder"]

# All names without `funke.engine.`. By package, the modules that stood one package higher before.
_MOVED_INTO = {
    "runtime.slots": (
        "slot slot_address slot_calls slot_host slot_process slot_watch process_ties worker_setup fork_server "
        "memory_watch subtasks"
    ),
    "runtime.blocks": "block_codec row_blocks frames router exits",
    "runtime.snapshots": "chain_snapshot checkpoint_command local_copies snapshot_files snapshot_taking state_restore",
    "runtime.epochs": "delivery epoch_blockers epoch_host epoch_runner results",
    "runtime.job_files": "archives cached_files dependencies shared_paths",
    "runtime.monitoring": "counter_rates flame_samples user_frames worker_logs",
    "operators.keyed": (
        "keyed_operator keyed_process keyed_states key_functions key_lists hot_keys key_watch reduce aggregations"
    ),
    "operators.time": "timers timestamps watermark_patience watermark_trackers clock",
    "operators.records": "map one_by_one process broadcast_process co_operators record_loops slice_sizer",
    "operators.windowing.fast": (
        "aligned_windows count_windows late_session_windows session_windows processing_time_sessions "
        "processing_time_windows sliding_windows record_adders session_calendar pane_stack merge_probe"
    ),
    "types.information": (
        "arrow_types avro_type basic_types char_type collection_types composite_types composite_coercion "
        "scalar_coercion decimal_type time_types type_catalog type_information type_mismatch spark_types "
        "arrow_values collected_form collection_input"
    ),
    "types.keys": "key_groups stable_hash number_hash",
    "sql.operators.joins": (
        "batch_join interval_join join join_rows join_rows_operator kept_inputs lateral_snapshot_join "
        "lookup_join lookup_requests multi_join pair_condition semi_join stored_join_rows stored_timed_rows "
        "temporal_join timed_rows timed_rows_operator input_metrics"
    ),
    "sql.operators.aggregates": "aggregate local_aggregate table_aggregate row_bundle",
    "sql.operators.ranks": "keep_earliest_row keep_one_row rank_rows sort_limit sort_tuples stream_orders",
    "sql.operators.changelogs": "changelog_rows final_rows materialize settle_conflicts enforce_not_null",
    "sql.operators.windows.over": (
        "over_aggregate frames framed_rows partition_aggregate partition_frames sorted_aggregate "
        "sorted_images row_logs row_buffer"
    ),
    "sql.operators.windows.session_windows": (
        "backend_sessions open_sessions session_table session_window_aggregate sessions"
    ),
    "sql.operators.windows.slices": (
        "backend_slices slice_store window_aggregate global_window_aggregate partial_aggregate "
        "aggregate_block block_parts pane_kernel gathered_rows window_results"
    ),
    "sql.state.rows": (
        "growing_columns ordered_rows packed_rows native_rows stored_rows row_bytes row_copies row_hashes "
        "rows_by_key kept_rows ranked_rows"
    ),
}
# By module, those whose classes it holds now.
_MERGED_INTO = {
    "operators.keyed.aggregations": "operators.folding operators.keyed.folding",
    "state.snapshot.file_format": "state.snapshot.native_files",
    "sql.binding.expressions": "sql.binding.time_attributes",
    "jobs.sources.source_coordinator": "jobs.sources.source_feed",
}
MOVED_MODULES = {old: module for module, merged in _MERGED_INTO.items() for old in merged.split()} | {
    f"{package.rpartition('.')[0]}.{module}": f"{package}.{module}"
    for package, modules in _MOVED_INTO.items()
    for module in modules.split()
}
_ROOT = "funke.engine."


class _MovedFinder(MetaPathFinder, Loader):
    """Gives the module of today for a name of earlier versions."""

    def __init__(self) -> None:
        self._own_specs: dict[str, ModuleSpec | None] = {}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        is_moved = fullname.startswith(_ROOT) and fullname[len(_ROOT) :] in MOVED_MODULES
        return ModuleSpec(fullname, self) if is_moved else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = importlib.import_module(_ROOT + MOVED_MODULES[spec.name[len(_ROOT) :]])
        self._own_specs[spec.name] = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        # The import system has put the old name's spec on the module.
        old_name = module.__spec__.name if module.__spec__ is not None else ""
        module.__spec__ = self._own_specs.pop(old_name)


def install_finder() -> None:
    """Adds the finder behind all others, which are asked first: only names that they do not know reach it."""
    if not any(isinstance(finder, _MovedFinder) for finder in sys.meta_path):
        sys.meta_path.append(_MovedFinder())
