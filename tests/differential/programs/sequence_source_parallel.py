# compare: unordered
# parallelism: 3
# prefix: strip
"""A sequence read by three subtasks yields every number once; each subtask's numbers rise."""

from __future__ import annotations

from pyflink.common import Types, WatermarkStrategy
from pyflink.datastream import MapFunction, RuntimeContext, StreamExecutionEnvironment
from pyflink.datastream.connectors.number_seq import NumberSequenceSource


class CheckRising(MapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.last = -1

    def map(self, value: int) -> str:
        is_rising = value > self.last
        self.last = value
        return f"{value} {'rising' if is_rising else 'out of order'}"


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(3)
    numbers = env.from_source(NumberSequenceSource(0, 29), WatermarkStrategy.no_watermarks(), "numbers", Types.LONG())
    numbers.map(CheckRising(), Types.STRING()).print()
    env.execute("numbers")


if __name__ == "__main__":
    main()
