# compare: unordered
# parallelism: 2
# prefix: strip
"""Batch mode gives one result per key at the end, for reduce and the aggregates, and stateless results as ever."""

from __future__ import annotations

from pyflink.common import Types
from pyflink.datastream import RuntimeExecutionMode, StreamExecutionEnvironment


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    env.set_parallelism(2)
    elements = [("a", 1), ("b", 10), ("a", 2), ("a", 3), ("b", 20), ("c", 100)]
    pairs = env.from_collection(elements, type_info=Types.TUPLE([Types.STRING(), Types.INT()]))
    keyed = pairs.key_by(lambda pair: pair[0], Types.STRING())
    keyed.reduce(lambda left, right: (left[0], left[1] + right[1])).print("reduce")
    keyed.sum(1).print("sum")
    keyed.max_by(1).map(lambda pair: pair[1], Types.INT()).print("max_by")
    pairs.flat_map(lambda pair: [pair[0]] * (pair[1] % 3), Types.STRING()).print("stateless")
    keyed.map(lambda pair: pair[1], Types.INT()).print("keyed-map")
    env.execute("batch")


if __name__ == "__main__":
    main()
