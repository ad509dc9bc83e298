# compare: ordered
# parallelism: 1
"""project keeps the chosen tuple fields in the chosen order, and is refused on anything but tuples."""

from __future__ import annotations

from pyflink.common import Types
from pyflink.datastream import StreamExecutionEnvironment


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    tuple_type = Types.TUPLE([Types.STRING(), Types.INT(), Types.BOOLEAN(), Types.DOUBLE()])
    tuples = env.from_collection([("a", 1, True, 1.5), ("b", 2, False, 2.5)], type_info=tuple_type)
    chosen = tuples.project(3, 0, 1)
    print(chosen.get_type())
    chosen.print()
    env.execute("project")
    tuples.key_by(lambda element: element[0]).project(1).print()
    env.execute("project keyed")
    try:
        env.from_collection([1, 2]).project(0)
    except Exception:
        print("refused")


if __name__ == "__main__":
    main()
