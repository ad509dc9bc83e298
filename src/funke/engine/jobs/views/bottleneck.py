"""What holds a job up: one operator and why, as a sentence, from the metrics of its view."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from funke.engine.jobs.views.back_pressure import Diagnosis, PressureStatus
from funke.engine.jobs.views.job_view import JobView, VertexView
from funke.engine.operators.time.watermark_patience import WATERMARK_MISSING

__all__ = ["Bottleneck", "find_bottleneck"]

# A subtask with so many times the records of an even share has too many.
_SKEWED = 1.5
# A key that so many of all records have.
_HOT = 0.2
_IS_BUSY = 0.9
_IS_IDLE = 0.5
# What takes so much of the time of its slot stands out.
_MOST = 0.7


@dataclass(frozen=True)
class Bottleneck:
    """The vertex that holds up those before it."""

    vertex_id: int
    sentence: str
    # The user's line at which it spends its time, if one stands out.
    user_line: str | None = None
    # How much of the records its fullest subtask has, from 0 to 1, if that is more than its share.
    skew: float | None = None
    # The key that most of its records have, and their share of all, if there is one.
    key: str | None = None
    key_share: float | None = None
    # It holds up everything: a block of records does not come to its end.
    is_held: bool = False


def find_bottleneck(view: JobView) -> Bottleneck | None:
    """The slot that stopped answering, or else the root of backpressure; None when no vertex waits for another."""
    if view.held:
        return _owner(view)
    waiting_windows = _windows_without_watermark(view)
    if waiting_windows is not None:
        return waiting_windows
    pressed = {vertex.id for vertex in view.vertices if _is_pressed(vertex)}
    roots = [vertex for vertex in view.vertices if vertex.pressure and vertex.pressure.diagnosis is Diagnosis.ROOT]
    # Those before the root wait; a busy vertex that no other waits for is not a bottleneck.
    holding = [vertex for vertex in roots if any(before in pressed for before in _before(view, vertex))]
    root = max(holding, key=_share_of_time, default=None)
    busiest = _busiest_of_full_slot(view)
    if busiest is not None and (root is None or not _is_busy(root)):
        # The subtasks of a slot take turns: one whose input is full while it is idle waits for its turn.
        root = busiest
    if root is None:
        return None
    skew, (line, share) = _skew(view, root), _busiest_line(view, root)
    waiting = [vertex.name for vertex in view.vertices if vertex.id in pressed and vertex.id != root.id]
    parts = [f'"{root.name}" is the bottleneck: {_busy(root)}{_waiting_text(view, waiting)}']
    key, key_share = _hottest_key(view, root)
    if skew is not None:
        parts.append(f"one of its {root.parallelism} subtasks has {skew:.0%} of the records: its keys are skewed")
    if key is not None:
        parts.append(f"{key_share:.0%} of its records have the key {key}")
    if line:
        parts.append(f"{share:.0%} of its time it is at {line}")
    elif _is_sink(root) and (_is_only_sink(root) or not _is_busy(root)):
        parts.append("it waits for what it writes to")
    sentence = ". ".join(f"{part[0].upper()}{part[1:]}" for part in parts) + "."
    return Bottleneck(root.id, sentence, line or None, skew, key, key_share)


def _windows_without_watermark(view: JobView) -> Bottleneck | None:
    """Windows that have taken records for some time, and cannot fire."""
    for vertex in view.vertices:
        for operator in vertex.operators:
            measured = view.metrics.operators.get(operator.id, {})
            if any(statistics.get(WATERMARK_MISSING) for statistics in measured.values()):
                sentence = (
                    f'The windows of "{operator.name}" cannot fire: records come, but no watermark. A part of the '
                    "source has no data, or nothing generates watermarks; the log says what to do."
                )
                return Bottleneck(vertex.id, sentence, operator.user_line)
    return None


def _waiting_text(view: JobView, waiting: list[str]) -> str:
    if waiting:
        return f", {_names(waiting)} {'wait' if len(waiting) > 1 else 'waits'}"
    return ", the others of its slot wait for their turn" if len(view.vertices) > 1 else ""


def _busiest_of_full_slot(view: JobView) -> VertexView | None:
    """The vertex that takes most of the time of a slot that hardly ever has nothing to do, if others wait for it."""
    spent: dict[int, dict[int, float]] = defaultdict(dict)
    for vertex in view.vertices:
        for each in vertex.subtasks:
            if each.pressure is not None and each.slot is not None:
                spent[each.slot][vertex.id] = each.pressure.busy
    fullest = max(spent.values(), key=lambda shares: sum(shares.values()), default={})
    busiest = next((vertex for vertex in view.vertices if fullest.get(vertex.id, 0.0) >= _MOST), None)
    if busiest is None or sum(fullest.values()) < _IS_BUSY:
        return None
    # A chain with a source in it reads more slowly than it could; another one holds up those of its slot.
    is_waited_for = len(fullest) > 1 or not any(_before(view, busiest))
    return busiest if is_waited_for else None


def _share_of_time(vertex: VertexView) -> float:
    return vertex.pressure.busy if vertex.pressure else 0.0


def _owner(view: JobView) -> Bottleneck | None:
    """The one that has been silent for longest: barriers, timers and checkpoints of its slot wait for it."""
    held = min(view.held, key=lambda each: each.since_ms)
    vertex = next((each for each in view.vertices if each.id == held.vertex_id), None)
    if vertex is None:
        return None
    since_s = max(0, view.seen_ms - held.since_ms) / 1000
    where = f", at {held.user_line}" if held.user_line else ""
    sentence = (
        f'"{vertex.name}" holds everything up: its subtask {held.subtask} has been at one block of records for '
        f"{since_s:.0f} s{where}. No checkpoint completes before it is through."
    )
    return Bottleneck(vertex.id, sentence, held.user_line or None, is_held=True)


def _hottest_key(view: JobView, vertex: VertexView) -> tuple[str | None, float | None]:
    """As it knows itself, or else as those before it have sent it."""
    key, share = _hottest_taken(view, vertex)
    return (key, share) if key is not None else _hottest_sent(view, vertex)


def _hottest_sent(view: JobView, vertex: VertexView) -> tuple[str | None, float | None]:
    """The senders that name it, by what each has sent, together; its share of all that was sent."""
    shares: dict[str, float] = defaultdict(float)
    total = 0.0
    for edge in (each for each in view.edges if each.target_vertex == vertex.id):
        tasks = view.metrics.tasks.get(edge.source_vertex, {})
        for subtask, count in _counts(view, edge.source_operator, "numRecordsOut").items():
            statistics, total = tasks.get(subtask, {}), total + count
            if f"to.{vertex.id}.hottestKey" in statistics:
                key = str(statistics[f"to.{vertex.id}.hottestKey"])
                shares[key] += count * float(statistics[f"to.{vertex.id}.hottestKeyShare"])
    key, count = max(shares.items(), key=lambda item: item[1], default=("", 0.0))
    return (key, count / total) if total > 0 and count >= _HOT * total else (None, None)


def _hottest_taken(view: JobView, vertex: VertexView) -> tuple[str | None, float | None]:
    """Of the subtask that has most of the records; its share of those of all subtasks."""
    tasks = view.metrics.tasks.get(vertex.id, {})
    counts = _records(view, vertex)
    if not counts or sum(counts.values()) <= 0:
        return None, None
    fullest = max(counts, key=lambda subtask: counts[subtask])
    statistics = tasks.get(fullest, {})
    share = float(statistics.get("hottestKeyShare", 0.0)) * counts[fullest] / sum(counts.values())
    # Fewer than it would have anyway: nothing is wrong with it.
    if "hottestKey" not in statistics or share < _HOT:
        return None, None
    return str(statistics["hottestKey"]), share


def _records(view: JobView, vertex: VertexView) -> dict[int, float]:
    """What its subtasks take, by rate while something comes."""
    return _counts(view, vertex.operators[0].id, "numRecordsIn")


def _counts(view: JobView, operator_id: str, counter: str) -> dict[int, float]:
    """By subtask, as a rate while something comes."""
    measured = view.metrics.operators.get(operator_id, {})
    for name in (f"{counter}PerSecond", counter):
        counts = {subtask: float(statistics.get(name, 0)) for subtask, statistics in measured.items()}
        if sum(counts.values()) > 0:
            return counts
    return {}


def _is_pressed(vertex: VertexView) -> bool:
    return vertex.pressure is not None and vertex.pressure.status is not PressureStatus.OK


def _before(view: JobView, vertex: VertexView) -> Iterator[int]:
    yield from (edge.source_vertex for edge in view.edges if edge.target_vertex == vertex.id)


def _busy(vertex: VertexView) -> str:
    shares = [each.pressure.busy for each in vertex.subtasks if each.pressure is not None]
    lowest, highest = min(shares, default=0.0), max(shares, default=0.0)
    if highest >= _IS_BUSY and lowest < _IS_IDLE:
        return f"busy {lowest:.0%} to {highest:.0%}"
    return f"busy {highest:.0%}"


def _is_busy(vertex: VertexView) -> bool:
    return vertex.pressure is not None and vertex.pressure.busy >= _IS_BUSY


def _is_sink(vertex: VertexView) -> bool:
    return "Sink" in vertex.operators[-1].name


def _is_only_sink(vertex: VertexView) -> bool:
    return "Sink" in vertex.operators[0].name


def _names(names: list[str]) -> str:
    quoted = [f'"{name}"' for name in names[:3]]
    return ", ".join(quoted) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _skew(view: JobView, vertex: VertexView) -> float | None:
    """The share of the records that go to the fullest subtask; None if that is even, or not a matter of keys.

    Both by rate and in all: while a job is held up its subtasks take records by turns, in bursts.
    """
    is_keyed = any(edge.target_vertex == vertex.id and edge.partitioner == "HASH" for edge in view.edges)
    if vertex.parallelism < 2 or not is_keyed or _all_busy(vertex):
        return None
    shares = [_fullest_share(view, vertex, name) for name in ("numRecordsInPerSecond", "numRecordsIn")]
    numeric = [each for each in shares if each is not None]
    share = min(numeric, default=0.0)
    return share if share >= min(0.95, _SKEWED / vertex.parallelism) else None


def _all_busy(vertex: VertexView) -> bool:
    """Where keys are skewed, the other subtasks have little to do, however records come."""
    return all(each.pressure is not None and each.pressure.busy >= _IS_IDLE for each in vertex.subtasks)


def _fullest_share(view: JobView, vertex: VertexView, name: str) -> float | None:
    measured = view.metrics.operators.get(vertex.operators[0].id, {})
    counts = [float(statistics.get(name, 0)) for statistics in measured.values()]
    return max(counts) / sum(counts) if len(counts) == vertex.parallelism and sum(counts) > 0 else None


def _busiest_line(view: JobView, vertex: VertexView) -> tuple[str, float]:
    """Of the subtask that is busiest."""
    tasks = view.metrics.tasks.get(vertex.id, {})
    busiest = max(tasks.values(), key=lambda statistics: statistics.get("busyTimeMsPerSecond", 0.0), default={})
    return str(busiest.get("busiestLine", "")), float(busiest.get("busiestLineShare", 0.0))
