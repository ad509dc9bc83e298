"""What patterns cost within one process: processor time of an event, and memory of a partial match.

python pattern_costs.py speed|memory
"""

from __future__ import annotations

import random
import resource
import subprocess
import sys
import time
from typing import Any

__all__ = ["bytes_per_partial_match", "events_per_cpu_s"]

KEYS = 100_000
EVENTS = 1_000_000
# As many as come between two watermarks 200 ms apart at this speed.
BATCH = 100_000
PARTIAL_MATCHES = 1_000_000


def events_per_cpu_s() -> float:
    """Events per second of one core in a pattern of three steps whose conditions are expressions over columns."""
    return _figure("speed")


def bytes_per_partial_match() -> float:
    """Bytes of memory for each of a million partial matches, beyond its event and its key."""
    return _figure("memory")


def _figure(name: str) -> float:
    done = subprocess.run([sys.executable, __file__, name], capture_output=True, text=True, check=True)
    return float(done.stdout)


def _operator(key_type: Any, conditions: list[Any]) -> Any:
    """The operator for a pattern, whose results nobody takes."""
    from funke.cep import CEP, AfterMatchSkipStrategy, Pattern
    from funke.common import Time, Types
    from funke.datastream import StreamExecutionEnvironment
    from funke.engine.operators.factory import create_operator
    from funke.engine.operators.operator import OperatorContext, Output, TaskInfo

    rows = Types.TUPLE([key_type, Types.DOUBLE()])
    env = StreamExecutionEnvironment.get_execution_environment()
    keyed = env.from_collection([(0, 1.0)], type_info=rows).key_by(lambda payment: payment[0])
    pattern = Pattern.begin("0", AfterMatchSkipStrategy.skip_past_last_event()).where(conditions[0])
    for number, condition in enumerate(conditions[1:], 1):
        pattern = pattern.followed_by(str(number)).where(condition)
    matches = CEP.pattern(keyed, pattern.within(Time.minutes(1))).select(len)
    assert matches._node is not None
    operator = create_operator(matches._node.operation, TaskInfo())
    operator.setup(OperatorContext(TaskInfo(), "pattern", "pattern", Output(), rows))
    operator.open()
    return operator, rows


def _speed() -> float:
    from funke.common import Types
    from funke.engine.types.columns.form_change import RowsToColumns
    from funke.table.expressions import col

    amount = col("f1")
    operator, rows = _operator(Types.STRING(), [amount < 10, (amount > 20) & (amount < 30), amount > 80])
    generator, convert = random.Random(7), RowsToColumns(rows).convert
    batches = []
    for start in range(0, EVENTS, BATCH):
        payments = [(f"key-{generator.randrange(KEYS)}", generator.random() * 100) for _ in range(BATCH)]
        batches.append(convert(payments, [row // 10 for row in range(start, start + BATCH)]))
    began = time.process_time()
    for batch in batches:
        operator.process_columns(batch)
        operator.process_watermark(int(batch.timestamps[-1]) - 1)
    return EVENTS / (time.process_time() - began)


def _memory() -> float:
    from funke.common import Types

    operator, _ = _operator(Types.LONG(), [lambda payment: payment[1] < 10, lambda payment: payment[1] > 80])
    payments = [(number + 1_000_000, 1.0) for number in range(PARTIAL_MATCHES)]
    before = _resident()
    for start in range(0, PARTIAL_MATCHES, 10_000):
        operator.process_batch(payments[start : start + 10_000], [start // 100] * 10_000)
        operator.process_watermark(start // 100)
    return (_resident() - before) / PARTIAL_MATCHES


def _resident() -> int:
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * resource.getpagesize()


if __name__ == "__main__":
    import os

    print({"speed": _speed, "memory": _memory}[sys.argv[1]](), flush=True)
    # Without the warning that the job was not executed.
    os._exit(0)
