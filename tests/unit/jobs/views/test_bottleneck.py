"""Who holds a job up, and why: a slow function with its line, a skewed key, a sink that waits."""

from __future__ import annotations

import itertools
from dataclasses import replace

from funke.engine.graph.execution_graph import ExecutionState
from funke.engine.jobs.views.back_pressure import Diagnosis, PressureView, status_of, together
from funke.engine.jobs.views.bottleneck import find_bottleneck
from funke.engine.jobs.views.job_view import EdgeView, JobView, MetricsView, OperatorView, SubtaskView, VertexView
from funke.engine.operators.time.watermark_patience import WATERMARK_MISSING
from funke.engine.types.job_status import JobStatus


def pressure(busy: float, ratio: float = 0.0, diagnosis: Diagnosis = Diagnosis.FINE) -> PressureView:
    return PressureView(status_of(ratio), ratio, busy, 0.0, 0.0, ratio > 0, diagnosis)


def vertex(number: int, name: str, *pressures: PressureView) -> VertexView:
    subtasks = tuple(SubtaskView(each, 0, ExecutionState.RUNNING, pressure=one) for each, one in enumerate(pressures))
    operator = OperatorView(str(number), name)
    return VertexView(number, name, (operator,), len(pressures), 128, subtasks=subtasks, pressure=together(pressures))


def view(*vertices: VertexView, metrics: MetricsView | None = None) -> JobView:
    edges = tuple(
        EdgeView(one.id, str(one.id), two.id, str(two.id), "HASH") for one, two in itertools.pairwise(vertices)
    )
    return JobView("j", "job", JobStatus.RUNNING, vertices=vertices, edges=edges, metrics=metrics or MetricsView())


PRESSED = pressure(0.04, 0.96, Diagnosis.PRESSED)
ROOT = pressure(0.97, 0.0, Diagnosis.ROOT)
SOURCE = vertex(1, "Source: orders", PRESSED)


def test_nobody_waits() -> None:
    assert find_bottleneck(JobView("j", "job", JobStatus.CREATED)) is None
    assert find_bottleneck(view(vertex(1, "Source", pressure(0.5)), vertex(2, "Map", pressure(0.5)))) is None
    # A busy one that holds up nobody is none.
    assert find_bottleneck(view(vertex(1, "Source", pressure(0.5)), vertex(2, "Map", ROOT))) is None


def test_a_slow_function_and_its_line() -> None:
    tasks = {2: {0: {"busyTimeMsPerSecond": 970.0, "busiestLine": "job.py:12 in slow", "busiestLineShare": 0.93}}}
    bottleneck = find_bottleneck(view(SOURCE, vertex(2, "enrich", ROOT), metrics=MetricsView(tasks=tasks)))
    assert bottleneck is not None and (bottleneck.vertex_id, bottleneck.user_line, bottleneck.skew) == (
        2,
        "job.py:12 in slow",
        None,
    )
    assert bottleneck.sentence == (
        '"enrich" is the bottleneck: busy 97%, "Source: orders" waits. 93% of its time it is at job.py:12 in slow.'
    )


def test_only_the_root_is_named_and_not_those_that_it_presses() -> None:
    middle = vertex(2, "Map", pressure(0.3, 0.7, Diagnosis.PRESSED))
    bottleneck = find_bottleneck(
        view(SOURCE, middle, vertex(3, "enrich", ROOT), vertex(4, "Sink: out", pressure(0.01)))
    )
    assert bottleneck is not None and bottleneck.vertex_id == 3
    assert '"Source: orders", "Map" wait.' in bottleneck.sentence


def test_a_skewed_key() -> None:
    operators = {"2": {0: {"numRecordsIn": 900, "numRecordsInPerSecond": 90.0}, 1: {"numRecordsIn": 100}}}
    operators["2"][1]["numRecordsInPerSecond"] = 10.0
    skewed = vertex(2, "count", ROOT, pressure(0.1))
    bottleneck = find_bottleneck(view(SOURCE, skewed, metrics=MetricsView(operators=operators)))
    assert bottleneck is not None and bottleneck.skew == 0.9
    assert "busy 10% to 97%" in bottleneck.sentence
    assert "One of its 2 subtasks has 90% of the records: its keys are skewed." in bottleneck.sentence
    even = {"2": {0: {"numRecordsIn": 50}, 1: {"numRecordsIn": 50}}}
    bottleneck = find_bottleneck(view(SOURCE, skewed, metrics=MetricsView(operators=even)))
    assert bottleneck is not None and bottleneck.skew is None
    # The other subtask is busy as well: records only come in bursts.
    both_busy = vertex(2, "count", ROOT, ROOT)
    bottleneck = find_bottleneck(view(SOURCE, both_busy, metrics=MetricsView(operators=operators)))
    assert bottleneck is not None and bottleneck.skew is None


def test_a_skewed_key_that_only_the_senders_know() -> None:
    operators = {"1": {0: {"numRecordsOut": 300}, 1: {"numRecordsOut": 100}}, "2": {0: {"numRecordsIn": 400}}}
    hottest = {
        "to.2.hottestKey": "'EU'",
        "to.2.hottestKeyShare": 0.8,
        "to.3.hottestKey": "7",
        "to.3.hottestKeyShare": 1.0,
    }
    metrics = MetricsView(operators=operators, tasks={1: {0: hottest, 1: {}}})
    source = vertex(1, "Source: orders", PRESSED, PRESSED)
    bottleneck = find_bottleneck(view(source, vertex(2, "enrich", ROOT), metrics=metrics))
    assert bottleneck is not None and bottleneck.key == "'EU'" and bottleneck.key_share == 0.6
    assert "60% of its records have the key 'EU'." in bottleneck.sentence
    # A share that every key might have is no news.
    seldom = replace(metrics, tasks={1: {0: {**hottest, "to.2.hottestKeyShare": 0.2}}})
    bottleneck = find_bottleneck(view(source, vertex(2, "enrich", ROOT), metrics=seldom))
    assert bottleneck is not None and bottleneck.key is None


def test_a_sink_that_waits() -> None:
    sink = vertex(2, "Sink: pg", replace(pressure(0.2, 0.0, Diagnosis.ROOT), in_usage=1.0))
    bottleneck = find_bottleneck(view(SOURCE, sink))
    assert bottleneck is not None and bottleneck.sentence.endswith("It waits for what it writes to.")


def in_slots(actual: VertexView, *slots: int) -> VertexView:
    """The vertex whose subtasks stand in slots."""
    placed = tuple(replace(each, slot=slot) for each, slot in zip(actual.subtasks, slots, strict=True))
    return replace(actual, subtasks=placed)


def test_one_that_waits_for_its_turn_is_not_the_bottleneck() -> None:
    """Its input is full while the sink of its slot writes."""
    source = in_slots(vertex(1, "Source: orders", PRESSED, PRESSED), 0, 1)
    waiting = replace(pressure(0.0, 0.0, Diagnosis.ROOT), in_usage=1.0)
    enrich = in_slots(vertex(2, "enrich", waiting, waiting), 0, 1)
    sink = in_slots(vertex(3, "Sink: pg", ROOT, ROOT), 0, 1)
    bottleneck = find_bottleneck(view(source, enrich, sink))
    assert bottleneck is not None and bottleneck.sentence == (
        '"Sink: pg" is the bottleneck: busy 97%, "Source: orders" waits. It waits for what it writes to.'
    )


def test_in_one_slot_nobody_is_pressed() -> None:
    """A block that stays in its slot is processed before the next one is made."""
    source, enrich = vertex(1, "Source: orders", pressure(0.02)), vertex(2, "enrich", pressure(0.01))
    sink = vertex(3, "Sink: pg", ROOT)
    bottleneck = find_bottleneck(view(*(in_slots(each, 0) for each in (source, enrich, sink))))
    assert bottleneck is not None and bottleneck.vertex_id == 3
    assert '"Sink: pg" is the bottleneck: busy 97%, the others of its slot wait for their turn.' in bottleneck.sentence
    # A single chain.
    operators = (OperatorView("1", "Source: orders"), OperatorView("2", "Sink: pg"))
    chain = replace(in_slots(vertex(1, "Source: orders -> Sink: pg", ROOT), 0), operators=operators)
    bottleneck = find_bottleneck(view(chain))
    assert bottleneck is not None and bottleneck.sentence == '"Source: orders -> Sink: pg" is the bottleneck: busy 97%.'


def test_a_slot_whose_time_is_shared_has_no_bottleneck() -> None:
    both = (vertex(1, "Source", pressure(0.5)), vertex(2, "Map", pressure(0.5)))
    assert find_bottleneck(view(*(in_slots(each, 0) for each in both))) is None
    # Busy all the time, in a slot of its own: nobody waits.
    apart = in_slots(vertex(1, "Source", pressure(0.5)), 0), in_slots(vertex(2, "Map", ROOT), 1)
    assert find_bottleneck(view(*apart)) is None


def test_bursts_are_no_skew() -> None:
    """Those of a slot that is held up come by turns."""
    statistics = [
        {"numRecordsIn": 500, "numRecordsInPerSecond": 90.0},
        {"numRecordsIn": 500, "numRecordsInPerSecond": 2},
    ]
    metrics = MetricsView(operators={"2": dict(enumerate(statistics))})
    bottleneck = find_bottleneck(view(SOURCE, vertex(2, "count", ROOT, pressure(0.1)), metrics=metrics))
    assert bottleneck is not None and bottleneck.skew is None


def test_rows_without_keys_are_not_skewed_by_keys() -> None:
    operators = {"2": {0: {"numRecordsIn": 900}, 1: {"numRecordsIn": 100}}}
    seen = view(SOURCE, vertex(2, "count", ROOT, pressure(0.1)), metrics=MetricsView(operators=operators))
    assert (bottleneck := find_bottleneck(seen)) is not None and bottleneck.skew == 0.9
    spread = replace(seen, edges=tuple(replace(each, partitioner="REBALANCE") for each in seen.edges))
    assert (bottleneck := find_bottleneck(spread)) is not None and bottleneck.skew is None


def test_windows_that_no_watermark_reaches() -> None:
    """Everything else is fine."""
    fine = vertex(1, "Source: orders", pressure(0.1)), vertex(2, "WindowAggregate", pressure(0.1))
    metrics = MetricsView(operators={"2": {0: {}, 1: {WATERMARK_MISSING: 1}}})
    bottleneck = find_bottleneck(view(*fine, metrics=metrics))
    assert bottleneck is not None and bottleneck.vertex_id == 2
    assert bottleneck.sentence.startswith(
        'The windows of "WindowAggregate" cannot fire: records come, but no watermark.'
    )
    assert find_bottleneck(view(*fine)) is None
