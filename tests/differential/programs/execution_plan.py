# compare: unordered
# parallelism: 2
"""The JSON of get_execution_plan: nodes with names, parallelism and the way records reach them."""

from __future__ import annotations

import json
from collections.abc import Iterator

from pyflink.common import Types, WatermarkStrategy
from pyflink.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from pyflink.datastream.connectors.number_seq import NumberSequenceSource


class Pass(KeyedProcessFunction):
    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[int]:
        yield value


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    numbers = env.from_source(NumberSequenceSource(1, 4), WatermarkStrategy.no_watermarks(), "numbers", Types.LONG())
    mapped = numbers.map(lambda number: number, Types.LONG()).name("first map").uid("first")
    shuffled = mapped.rebalance().filter(lambda number: True).name("keep").set_parallelism(3)
    keyed = shuffled.key_by(lambda number: number % 2, Types.LONG()).process(Pass(), Types.LONG()).name("keyed pass")
    keyed.print().name("printer")
    numbers.key_by(lambda number: number % 2, Types.LONG()).print().name("by key")
    mapped.broadcast().map(lambda number: number, Types.LONG()).name("other").set_description("the other map").print()
    plan = json.loads(env.get_execution_plan())
    print("keys", sorted(plan))
    names = {node["id"]: node["type"] for node in plan["nodes"]}
    for node in plan["nodes"]:
        name = names[node["id"]]
        print(name, "|", node["pact"], "|", node["contents"], "|", node["parallelism"])
        for edge in node.get("predecessors", []):
            print(name, "<-", names[edge["id"]], edge["ship_strategy"], edge["side"])


if __name__ == "__main__":
    main()
