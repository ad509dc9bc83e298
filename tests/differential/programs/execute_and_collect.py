# compare: ordered
# parallelism: 1
"""Collecting: all, with a limit, from a keyed stream, closed early, by next(), and typed rows with names."""

from __future__ import annotations

from pyflink.common import Types
from pyflink.datastream import StreamExecutionEnvironment


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    numbers = env.from_collection(list(range(10)), type_info=Types.INT())
    with numbers.map(lambda number: number * 2, Types.INT()).execute_and_collect() as results:
        print(type(results).__name__, list(results))
    print(numbers.execute_and_collect(limit=3))
    print(numbers.execute_and_collect("named job", 2))
    with numbers.execute_and_collect("named job") as results:
        print(results.next(), next(results))
    pairs = env.from_collection([("a", 1), ("b", 2), ("a", 3)], Types.TUPLE([Types.STRING(), Types.INT()]))
    keyed = pairs.key_by(lambda pair: pair[0], Types.STRING())
    with keyed.execute_and_collect() as results:
        for row in results:
            print(repr(row), list(row))
    names = Types.ROW_NAMED(["id", "name"], [Types.INT(), Types.STRING()])
    rows = env.from_collection([(1, "hi"), (2, None)], type_info=names)
    print(rows.execute_and_collect(limit=10))
    with env.from_collection([], type_info=Types.INT()).execute_and_collect() as results:
        print(list(results))
    results = numbers.filter(lambda number: number > 100).execute_and_collect()
    print(list(results))
    results.close()


if __name__ == "__main__":
    main()
