# compare: ordered
# parallelism: 1
"""NumberSequenceSource gives both bounds and everything between, in order with one subtask."""

from __future__ import annotations

from pyflink.common import WatermarkStrategy
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.connectors.number_seq import NumberSequenceSource


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    numbers = env.from_source(NumberSequenceSource(-3, 12), WatermarkStrategy.no_watermarks(), "numbers")
    print(numbers.get_type())
    numbers.map(lambda number: number * number).print()
    env.execute("squares")
    single = env.from_source(NumberSequenceSource(7, 7), WatermarkStrategy.no_watermarks(), "one number")
    with single.execute_and_collect() as results:
        print(list(results))


if __name__ == "__main__":
    main()
