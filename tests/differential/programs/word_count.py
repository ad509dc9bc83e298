# compare: unordered
# parallelism: 2
# prefix: strip
"""Word count over lines, streaming (a result per word) and batch (a result per distinct word)."""

from __future__ import annotations

from collections.abc import Iterator

from pyflink.common import Types
from pyflink.datastream import RuntimeExecutionMode, StreamExecutionEnvironment

LINES = ["To be, or not to be,--that is the question:--", "Whether 'tis nobler in the mind to suffer", "to be"]


def split(line: str) -> Iterator[str]:
    yield from line.lower().replace(",--", " ").replace(":--", "").replace(",", "").split()


def count(mode: RuntimeExecutionMode, name: str) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_runtime_mode(mode)
    env.set_parallelism(2)
    lines = env.from_collection(LINES, type_info=Types.STRING())
    pairs = lines.flat_map(split).map(lambda word: (word, 1), Types.TUPLE([Types.STRING(), Types.INT()]))
    pairs.key_by(lambda pair: pair[0], Types.STRING()).reduce(lambda a, b: (a[0], a[1] + b[1])).print(name)
    env.execute(name)


if __name__ == "__main__":
    count(RuntimeExecutionMode.STREAMING, "streaming")
    count(RuntimeExecutionMode.BATCH, "batch")
