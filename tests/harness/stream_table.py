"""Tests as tables: one row per element that goes in, with everything that must come out because of it.

::

    ('a', 1) @ 1000   | ('a', 1) @ 1000
    2: 'x'            | 'from the second input'
    watermark 1500    | 'timer' @ 1200; watermark 1500
    time 300          | [late] 'to the side output late'; idle
    epoch             |
    end               | watermark max

A value is a Python expression, `@` gives its timestamp, `time` moves the clock, `epoch` ends an epoch.
"""

from __future__ import annotations

import re
from typing import Any

from funke.engine.operators.operator import MAX_WATERMARK, MIN_WATERMARK
from tests.harness.operator_harness import OperatorHarness, Record, Status, Watermark

_TIMED = re.compile(r"^(?P<value>.*?)(?:\s@\s(?P<time>-?\w+))?$", re.DOTALL)
_TAGGED = re.compile(r"^\[(?P<tag>\w+)\]\s(?P<rest>.*)$", re.DOTALL)
_SECOND_INPUT = re.compile(r"^2:\s(?P<rest>.*)$", re.DOTALL)
_TIMES = {"max": MAX_WATERMARK, "min": MIN_WATERMARK}


def check_stream_table(harness: OperatorHarness, table: str, names: dict[str, Any] | None = None) -> None:
    """Runs a table row by row; `names` are what its expressions may use."""
    for line in filter(None, map(str.strip, table.splitlines())):
        inputs, _, expected = (part.strip() for part in line.partition("|"))
        _feed(harness, inputs, names or {})
        elements = [*harness.elements(), *_from_sides(harness)]
        expected_values = [_expected(part.strip(), names or {}) for part in expected.split(";") if part.strip()]
        assert elements == expected_values, f"after `{inputs}`:\n  expected {expected_values}\n  found    {elements}"


def _feed(harness: OperatorHarness, arguments: str, names: dict[str, Any]) -> None:
    command, _, argument = arguments.partition(" ")
    if command == "watermark":
        harness.watermark(_time(argument))
    elif command == "time":
        harness.set_processing_time(_time(argument))
    elif arguments in ("idle", "active"):
        harness.operator.process_status(arguments == "idle")
    elif arguments == "epoch":
        harness.end_epoch()
    elif arguments == "end":
        harness.end_input()
    else:
        second = _SECOND_INPUT.match(arguments)
        value, timestamp = _timed(second["rest"] if second else arguments, names)
        harness.process(value, timestamp, 1 if second else 0)


def _expected(text: str, names: dict[str, Any]) -> Any:
    if text in ("idle", "active"):
        return Status(text == "idle")
    if text.startswith("watermark "):
        return Watermark(_time(text.partition(" ")[2]))
    tagged = _TAGGED.match(text)
    if tagged:
        return tagged["tag"], Record(*_timed(tagged["rest"], names))
    return Record(*_timed(text, names))


def _timed(text: str, names: dict[str, Any]) -> tuple[Any, int | None]:
    match = _TIMED.match(text)
    assert match is not None
    time = match["time"]
    return eval(match["value"], dict(names)), None if time is None else _time(time)


def _time(text: str) -> int:
    return _TIMES[text] if text in _TIMES else int(text)


def _from_sides(harness: OperatorHarness) -> list[Any]:
    results = []
    for tag_id, recorder in harness.sides.items():
        records = [element for element in recorder.elements if isinstance(element, Record)]
        results += [(tag_id, record) for record in records]
        recorder.elements = []
    return results
