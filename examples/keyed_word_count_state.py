"""Counts words with keyed state: the word is the key, its count is the state.

funke run examples/keyed_word_count_state.py
"""

import sys

from pyflink.common import Types
from pyflink.datastream import FlatMapFunction, RuntimeContext, StreamExecutionEnvironment
from pyflink.datastream.state import ValueStateDescriptor

LINES = ["to be or not to be", "that is the question", "to sleep perchance to dream"]


class CountWord(FlatMapFunction):
    def open(self, runtime_context: RuntimeContext):
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def flat_map(self, word):
        # `value()` and `update()` work on the state of the current word.
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield word, count


def main(argv=None):
    env = StreamExecutionEnvironment.get_execution_environment()
    (
        env.from_collection(LINES, type_info=Types.STRING())
        .flat_map(str.split, output_type=Types.STRING())
        .key_by(lambda word: word, key_type=Types.STRING())
        .flat_map(CountWord(), output_type=Types.TUPLE([Types.STRING(), Types.LONG()]))
        .print()
    )
    env.execute("Keyed Word Count")


if __name__ == "__main__":
    main(sys.argv[1:])
