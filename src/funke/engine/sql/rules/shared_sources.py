"""Makes parts of a plan equal that could be: Flink's reuse of sources and of sub-plans finds equal parts alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TypeGuard

from funke.engine.sql.binding import BoundColumn, Calculation, Relation, Scan, inputs_of, with_inputs
from funke.engine.sql.binding.merged_calculations import merged_pair
from funke.engine.sql.connectors.table_source import TableSource
from funke.engine.sql.plan import WatermarkStep, as_node, finer
from funke.engine.sql.plan.assign_watermarks import AssignWatermarks
from funke.engine.sql.plan.calc import Calc

__all__ = ["with_shared_scans", "with_shared_watermarks"]

_Path = tuple[str, ...]


def with_shared_scans(whole: Relation, narrow: Relation) -> Relation:
    """Merges scans of one table that read different columns into one that reads them all.

    `narrow` is what pushing down has made of `whole`, whose scans read all columns.
    """
    shared = {path: scan for path in _repeated(narrow) if (scan := _shared(path, whole, narrow)) is not None}
    return _with_scans(narrow, shared) if shared else narrow


def _repeated(relation: Relation) -> set[_Path]:
    """The tables of which several scans read different columns."""
    columns: dict[_Path, set[tuple[str, ...]]] = {}
    for scan in _scans(relation):
        if scan.path:
            columns.setdefault(scan.path, set()).add(_names(scan))
    return {path for path, different in columns.items() if len(different) > 1}


def _shared(path: _Path, whole: Relation, narrow: Relation) -> Scan | None:
    """The scan that reads the columns of all scans of a table; None if they read different rows."""
    first, *others = (scan for scan in _scans(whole) if scan.path == path)
    own = [scan for scan in _scans(narrow) if scan.path == path]
    # Scans with different pushed-down conditions read different rows: they cannot be one scan.
    if any(each != first for each in others) or any(_narrowed(first, {*_names(each)}) != each for each in own):
        return None
    return _narrowed(first, {name for each in own for name in _names(each)})


def _narrowed(scan: Scan, names: set[str]) -> Scan | None:
    """A scan with these columns alone; None if its source cannot do that."""
    kept = [index for index, each in enumerate(scan.columns) if each.name in names]
    if len(kept) == len(scan.columns):
        return scan
    table = scan.table.with_columns(kept) if isinstance(scan.table, TableSource) else None
    return None if table is None else replace(scan, columns=tuple(scan.columns[each] for each in kept), table=table)


def _with_scans(relation: Relation, shared: dict[_Path, Scan]) -> Relation:
    scan = shared.get(relation.path) if isinstance(relation, Scan) else None
    if scan is None:
        changed: Relation = with_inputs(relation, lambda each: _with_scans(each, shared))
        # One projection instead of two that follow each other.
        if isinstance(changed, Calculation) and _is_choice(changed.input):
            return merged_pair(changed, changed.input) or changed
        return changed
    if scan.columns == relation.columns:
        return scan
    indexes = {name: index for index, name in enumerate(_names(scan))}
    chosen = (BoundColumn(each.type, indexes[each.name], each.name, each.time) for each in relation.columns)
    return Calc(relation.columns, as_node(scan), tuple(chosen))


def _is_choice(relation: Relation) -> TypeGuard[Calculation]:
    """True if it only chooses columns of a scan."""
    return isinstance(relation, Calculation) and isinstance(relation.input, Scan) and relation.condition is None


def _scans(relation: Relation) -> Iterator[Scan]:
    if isinstance(relation, Scan):
        yield relation
    for each in inputs_of(relation):
        yield from _scans(each)


def _names(scan: Scan) -> tuple[str, ...]:
    return tuple(each.name for each in scan.columns)


def with_shared_watermarks(relation: Relation) -> Relation:
    """Sets watermarks over equal inputs as finely as their most exacting consumer needs them.

    Where no consumer looks at them, rows stay uncut.
    """
    # Equal inputs run once, so their batches are cut for the consumer that needs the most cuts.
    steps: list[tuple[AssignWatermarks, WatermarkStep | None]] = []
    for each in _assigners(relation):
        position = next((index for index, (other, _) in enumerate(steps) if other == replace(each, step=None)), None)
        if position is None:
            steps.append((replace(each, step=None), each.step))
        else:
            steps[position] = steps[position][0], finer(steps[position][1], each.step)
    return _with_steps(relation, steps)


def _with_steps(relation: Relation, steps: Sequence[tuple[AssignWatermarks, WatermarkStep | None]]) -> Relation:
    if isinstance(relation, AssignWatermarks) and relation.step is not None:
        plain = replace(relation, step=None)
        return replace(relation, step=next(step for other, step in steps if other == plain))
    changed: Relation = with_inputs(relation, lambda each: _with_steps(each, steps))
    return changed


def _assigners(relation: Relation) -> Iterator[AssignWatermarks]:
    if isinstance(relation, AssignWatermarks) and relation.step is not None:
        yield relation
    for each in inputs_of(relation):
        yield from _assigners(each)
