# compare: ordered
# parallelism: 2
"""Collected results: in the order of the input for every key and every subtask, and as a whole if there is but one."""

from __future__ import annotations

from collections.abc import Iterator

from pyflink.common import Types
from pyflink.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment

NUMBERED = Types.TUPLE([Types.STRING(), Types.INT()])


class WithSubtask(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.subtask = runtime_context.get_index_of_this_subtask()

    def process_element(self, value: tuple[str, int], ctx: KeyedProcessFunction.Context) -> Iterator[tuple]:
        yield (*value, self.subtask)


def main() -> None:
    words = [("abcdef"[number % 6], number) for number in range(24)]
    for parallelism in (1, 2):
        env = StreamExecutionEnvironment.get_execution_environment()
        env.set_parallelism(parallelism)
        keyed = env.from_collection(words, NUMBERED).key_by(lambda word: word[0])
        placed = Types.TUPLE([Types.STRING(), Types.INT(), Types.INT()])
        results = list(keyed.process(WithSubtask(), placed).execute_and_collect())
        for key in "abcdef":
            print(parallelism, key, [number for word, number, _ in results if word == key])
        for subtask in range(parallelism):
            numbers = [number for _, number, origin in results if origin == subtask]
            print(parallelism, "in order:", numbers == sorted(numbers))


if __name__ == "__main__":
    main()
