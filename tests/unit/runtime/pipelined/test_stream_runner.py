"""The driver's end of the slots."""

from __future__ import annotations

import math
from collections import deque
from typing import Any

from funke.engine.runtime.epochs.results import Failure
from funke.engine.runtime.pipelined.stream_runner import StreamRunner
from funke.engine.types.operator_location import NOWHERE


def test_a_slot_that_was_lost_while_others_were_born_is_not_waited_for() -> None:
    runner: Any = object.__new__(StreamRunner)
    lost = Failure(NOWHERE, "SlotLostError", "it is gone", "", is_slot_lost=True)
    runner._received = deque([(0, lost)])
    runner._await(lambda: False, math.inf, TimeoutError)
    assert list(runner._received) == [(0, lost)], "it is told to whoever asks next"
