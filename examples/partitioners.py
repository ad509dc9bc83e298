"""Shows which subtask sends to which: rescale from 2 to 4 and from 4 to 2 subtasks, and shuffle.

With rescale each sender has receivers of its own, or shares one with its neighbours only; shuffle picks a receiver at
random for every record.

    funke run examples/partitioners.py
"""

import sys

from pyflink.common import Types, WatermarkStrategy
from pyflink.datastream import MapFunction, RuntimeContext, StreamExecutionEnvironment
from pyflink.datastream.connectors.number_seq import NumberSequenceSource

PAIR = Types.TUPLE([Types.INT(), Types.INT()])


class TellSender(MapFunction):
    def open(self, runtime_context: RuntimeContext):
        self.subtask = runtime_context.get_index_of_this_subtask()

    def map(self, value):
        return self.subtask


class TellReceiver(MapFunction):
    def open(self, runtime_context: RuntimeContext):
        self.subtask = runtime_context.get_index_of_this_subtask()

    def map(self, sender):
        return sender, self.subtask


def ways(senders, receivers, partition):
    """Runs a job and returns, for each sender, the receivers it has sent to."""
    env = StreamExecutionEnvironment.get_execution_environment()
    numbers = env.from_source(NumberSequenceSource(1, 400), WatermarkStrategy.no_watermarks(), "numbers")
    sent = numbers.rebalance().map(TellSender(), output_type=Types.INT()).set_parallelism(senders)
    received = partition(sent).map(TellReceiver(), output_type=PAIR).set_parallelism(receivers)
    receivers_of = {}
    with received.execute_and_collect(f"{senders} to {receivers}") as pairs:
        for sender, receiver in pairs:
            receivers_of.setdefault(sender, set()).add(receiver)
    return receivers_of


def show(title, receivers_of):
    print(title)
    for sender in sorted(receivers_of):
        print(f"  {sender} -> {', '.join(map(str, sorted(receivers_of[sender])))}")


def main(argv=None):
    show("rescale, 2 to 4", ways(2, 4, lambda stream: stream.rescale()))
    show("rescale, 4 to 2", ways(4, 2, lambda stream: stream.rescale()))
    show("shuffle, 2 to 4", ways(2, 4, lambda stream: stream.shuffle()))


if __name__ == "__main__":
    main(sys.argv[1:])
