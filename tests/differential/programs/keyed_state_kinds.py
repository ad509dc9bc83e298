# compare: ordered
# parallelism: 1
"""Value, list, map, reducing and aggregating state, seen record by record, updated, cleared."""

from __future__ import annotations

from collections.abc import Iterator

from pyflink.common import Types
from pyflink.datastream import AggregateFunction, KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from pyflink.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)


class Average(AggregateFunction):
    def create_accumulator(self) -> tuple[int, int]:
        return 0, 0

    def add(self, value: int, accumulator: tuple[int, int]) -> tuple[int, int]:
        return accumulator[0] + value, accumulator[1] + 1

    def get_result(self, accumulator: tuple[int, int]) -> float:
        return accumulator[0] / accumulator[1]

    def merge(self, acc_a: tuple[int, int], acc_b: tuple[int, int]) -> tuple[int, int]:
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


class AllKinds(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.last = runtime_context.get_state(ValueStateDescriptor("last", Types.INT()))
        self.all = runtime_context.get_list_state(ListStateDescriptor("all", Types.INT()))
        self.counts = runtime_context.get_map_state(MapStateDescriptor("counts", Types.INT(), Types.INT()))
        self.total = runtime_context.get_reducing_state(
            ReducingStateDescriptor("total", lambda left, right: left + right, Types.INT())
        )
        self.average = runtime_context.get_aggregating_state(
            AggregatingStateDescriptor("average", Average(), Types.TUPLE([Types.INT(), Types.INT()]))
        )

    def process_element(self, value: tuple[str, int], ctx: KeyedProcessFunction.Context) -> Iterator[str]:
        number = value[1]
        before = (self.last.value(), self.total.get(), list(self.all.get()), self.counts.is_empty())
        self.last.update(number)
        self.all.add(number)
        self.counts.put(number, (self.counts.get(number) or 0) + 1)
        self.total.add(number)
        self.average.add(number)
        yield f"{value} before {before}"
        yield (
            f"{value} after {self.last.value()} {list(self.all)} {sorted(self.counts.items())} {self.total.get()} "
            + (f"{self.average.get()}")
        )
        if number == 9:
            for state in (self.last, self.all, self.counts, self.total, self.average):
                state.clear()


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    elements = [("a", 1), ("b", 5), ("a", 2), ("a", 1), ("b", 9), ("b", 4), ("a", 9), ("a", 7)]
    pairs = env.from_collection(elements, type_info=Types.TUPLE([Types.STRING(), Types.INT()]))
    pairs.key_by(lambda pair: pair[0], Types.STRING()).process(AllKinds(), Types.STRING()).print()
    env.execute("state")


if __name__ == "__main__":
    main()
