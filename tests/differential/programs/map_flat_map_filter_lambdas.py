# compare: ordered
# parallelism: 1
"""map, flat_map and filter with lambdas, generators, bound methods and plain functions."""

from __future__ import annotations

from collections.abc import Iterator

from pyflink.common import Types
from pyflink.datastream import StreamExecutionEnvironment


def words(line: str) -> Iterator[str]:
    yield from line.split()


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    lines = env.from_collection(["to be or not", "", "to be"], type_info=Types.STRING())
    prefix = ">"
    lines.flat_map(words, Types.STRING()).map(str.upper, Types.STRING()).map(lambda word: prefix + word).print()
    env.execute("words")
    lines.flat_map(lambda line: [(word, len(word)) for word in line.split()]).filter(lambda pair: pair[1] > 2).print()
    env.execute("long words")
    lines.map(len, Types.INT()).filter(bool).print()
    env.execute("lengths")
    lines.flat_map(lambda line: range(len(line) // 4)).map(lambda number: None if number == 1 else number).print()
    env.execute("numbers")


if __name__ == "__main__":
    main()
