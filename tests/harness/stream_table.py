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
        given, _, expected = (part.strip() for part in line.partition("|"))
        _feed(harness, given, names or {})
        found = [*harness.elements(), *_from_sides(harness)]
        wanted = [_expected(part.strip(), names or {}) for part in expected.split(";") if part.strip()]
        assert found == wanted, f"after `{given}`:\n  expected {wanted}\n  found    {found}"


def _feed(harness: OperatorHarness, given: str, names: dict[str, Any]) -> None:
    command, _, argument = given.partition(" ")
    if command == "watermark":
        harness.watermark(_time(argument))
    elif command == "time":
        harness.set_processing_time(_time(argument))
    elif given in ("idle", "active"):
        harness.operator.process_status(given == "idle")
    elif given == "epoch":
        harness.end_epoch()
    elif given == "end":
        harness.end_input()
    else:
        second = _SECOND_INPUT.match(given)
        value, timestamp = _timed(second["rest"] if second else given, names)
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
    found = _TIMED.match(text)
    assert found is not None
    time = found["time"]
    return eval(found["value"], dict(names)), None if time is None else _time(time)


def _time(text: str) -> int:
    return _TIMES[text] if text in _TIMES else int(text)


def _from_sides(harness: OperatorHarness) -> list[Any]:
    found = []
    for tag_id, recorder in harness.sides.items():
        records = [element for element in recorder.elements if isinstance(element, Record)]
        found += [(tag_id, record) for record in records]
        recorder.elements = []
    return found
