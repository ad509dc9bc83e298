"""Partial matches outlive a killed slot and a savepoint with another parallelism; another pattern gets none."""

from __future__ import annotations

import os
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from funke.cep import CEP, AfterMatchSkipStrategy, Pattern
from funke.common import Types
from funke.datastream import DataStream, MapFunction, RuntimeContext
from funke.engine.errors import StateError
from tests.faults.test_savepoints import KEYS, RECORDS, new_environment, numbers, wait_for_records
from tests.harness.exact_files import committed, sink

pytestmark = pytest.mark.spark

RESTARTS = {
    "restart_strategy__type": "fixed-delay",
    "restart_strategy__fixed_delay__attempts": "3",
    "restart_strategy__fixed_delay__delay": "100 ms",
}


class KillOnce(MapFunction):
    """Ends its process when it sees a number in the first attempt."""

    def __init__(self, number: int) -> None:
        self.number = number

    def open(self, runtime_context: RuntimeContext) -> None:
        self.attempt = runtime_context.get_attempt_number()

    def map(self, value: int) -> int:
        if value == self.number and self.attempt == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return value


def rounds(stream: DataStream, length: int) -> DataStream:
    """Each key's events, so many at a time."""
    pattern = Pattern.begin("first", AfterMatchSkipStrategy.skip_past_last_event()).next("rest").times(length - 1)
    matches = CEP.pattern(stream.key_by(lambda number: number % KEYS), pattern.consecutive())
    return matches.select(
        lambda match: ",".join(map(str, [*match["first"], *match["rest"]])), output_type=Types.STRING()
    ).uid("rounds")


def expected(length: int) -> Counter[str]:
    of_keys = [list(range(key, RECORDS, KEYS)) for key in range(KEYS)]
    starts = [(of_key, start) for of_key in of_keys for start in range(0, len(of_key) - length + 1, length)]
    return Counter(",".join(map(str, of_key[start : start + length])) for of_key, start in starts)


def test_kill_and_rescale_in_the_middle_of_a_match(spark: Any, tmp_path: Path) -> None:
    env = new_environment()
    rounds(numbers(env), 5).sink_to(sink(tmp_path / "out")).uid("out")
    client = env.execute_async("first")
    wait_for_records(client)
    path = client.stop_with_savepoint(False, str(tmp_path / "savepoints")).result()
    before = committed(tmp_path / "out")
    assert 0 < sum(before.values()) < sum(expected(5).values())

    env = new_environment(start_from=path)
    rounds(numbers(env, per_checkpoint=None), 4).sink_to(sink(tmp_path / "other")).uid("out")
    with pytest.raises(StateError, match=r"it was written with the pattern .*'rest' .4,4. next"):
        env.execute("another pattern")

    env = new_environment(3, path, **RESTARTS)
    stream = numbers(env, per_checkpoint=None).map(KillOnce(RECORDS - 100), Types.LONG())
    rounds(stream, 5).sink_to(sink(tmp_path / "out")).uid("out")
    env.execute("second")
    assert committed(tmp_path / "out") == expected(5)
