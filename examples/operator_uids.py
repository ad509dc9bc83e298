"""Gives stateful operators uids, by which a savepoint finds their state again when the program has changed.

funke run examples/operator_uids.py
"""

import sys

from pyflink.common import Types, WatermarkStrategy
from pyflink.datastream import MapFunction, RuntimeContext, StreamExecutionEnvironment
from pyflink.datastream.connectors.number_seq import NumberSequenceSource
from pyflink.datastream.state import ValueStateDescriptor


class StatefulMapper(MapFunction):
    """Adds up the numbers of its key."""

    def open(self, runtime_context: RuntimeContext):
        self.total = runtime_context.get_state(ValueStateDescriptor("total", Types.LONG()))

    def map(self, value):
        total = (self.total.value() or 0) + value
        self.total.update(total)
        return value % 3, total


def main(argv=None):
    env = StreamExecutionEnvironment.get_execution_environment()
    numbers = env.from_source(NumberSequenceSource(1, 9), WatermarkStrategy.no_watermarks(), "numbers").uid("source-id")
    (
        numbers.shuffle()
        .map(lambda number: number, output_type=Types.LONG())
        .key_by(lambda number: number % 3, key_type=Types.LONG())
        .map(StatefulMapper(), output_type=Types.TUPLE([Types.LONG(), Types.LONG()]))
        .uid("mapper-id")
        # Printing keeps no state, so it needs no uid.
        .print()
    )
    env.execute("Operator Uids")


if __name__ == "__main__":
    main(sys.argv[1:])
