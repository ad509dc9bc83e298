# compare: ordered
# parallelism: 1
"""get_type() of a stream after each transformation, and the text form of every type."""

from __future__ import annotations

from pyflink.common import Types
from pyflink.datastream import StreamExecutionEnvironment

TYPES = [
    Types.STRING(),
    Types.BYTE(),
    Types.BOOLEAN(),
    Types.SHORT(),
    Types.INT(),
    Types.LONG(),
    Types.FLOAT(),
    Types.DOUBLE(),
    Types.CHAR(),
    Types.BIG_INT(),
    Types.BIG_DEC(),
    Types.INSTANT(),
    Types.SQL_DATE(),
    Types.SQL_TIME(),
    Types.SQL_TIMESTAMP(),
    Types.PICKLED_BYTE_ARRAY(),
    Types.ROW([Types.INT(), Types.ROW([Types.STRING()])]),
    Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.LIST(Types.STRING())]),
    Types.TUPLE([Types.INT(), Types.STRING()]),
    Types.PRIMITIVE_ARRAY(Types.INT()),
    Types.BASIC_ARRAY(Types.STRING()),
    Types.OBJECT_ARRAY(Types.ROW([Types.INT()])),
    Types.MAP(Types.STRING(), Types.LONG()),
    Types.LIST(Types.INT()),
]


def main() -> None:
    for type_info in TYPES:
        print(type(type_info).__name__, type_info)
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    pair = Types.TUPLE([Types.STRING(), Types.INT()])
    typed = env.from_collection([("a", 1)], type_info=pair)
    streams = {
        "untyped": env.from_collection([1]),
        "typed": typed,
        "map": typed.map(lambda value: value),
        "typed map": typed.map(lambda value: value[0], Types.STRING()),
        "flat_map": typed.flat_map(lambda value: [value], pair),
        "filter": typed.filter(lambda value: True),
        "key_by": typed.key_by(lambda value: value[0]),
        "typed key_by": typed.key_by(lambda value: value[0], Types.STRING()),
        "reduce": typed.key_by(lambda value: value[0]).reduce(lambda left, right: left),
        "sum": typed.key_by(lambda value: value[0]).sum(1),
        "project": typed.project(1, 0),
        "union": typed.union(typed),
        "rebalance": typed.rebalance(),
        "row": env.from_collection([(1, "a")], Types.ROW_NAMED(["id", "name"], [Types.INT(), Types.STRING()])),
    }
    for name, stream in streams.items():
        print(name, "->", stream.get_type())
    print(Types.INT() == Types.INT(), Types.INT() == Types.LONG(), pair == Types.TUPLE([Types.STRING(), Types.INT()]))


if __name__ == "__main__":
    main()
