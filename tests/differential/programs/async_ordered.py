# compare: ordered
# parallelism: 1
"""Asynchronous calls in order: any number of results, results of any iterable, keyed input, declared types."""

from __future__ import annotations

import asyncio
from typing import Any

from pyflink.common import Row, Time, Types
from pyflink.datastream import AsyncDataStream, AsyncFunction, RuntimeContext, StreamExecutionEnvironment


class Slower(AsyncFunction):
    """Answers later the smaller the number is."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.task = runtime_context.get_task_name()
        self.answered: list[int] = []

    async def async_invoke(self, value: int) -> list[Any]:
        await asyncio.sleep((10 - value) * 0.02)
        self.answered.append(value)
        return [value, value * value]


class AsManyAs(AsyncFunction):
    async def async_invoke(self, value: int) -> list[str]:
        return [f"{value}/{number}" for number in range(value % 3)]


class Letters(AsyncFunction):
    async def async_invoke(self, value: int) -> Any:
        return "ab" if value % 2 else (value, "tuple")


class ToRow(AsyncFunction):
    async def async_invoke(self, value: int) -> list[Row]:
        return [Row(value, f"name {value}")]


class Shown(AsyncFunction):
    async def async_invoke(self, value: Any) -> list[str]:
        return [repr(value)]


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    numbers = env.from_collection([1, 2, 3, 4, 5, 6, 7], type_info=Types.INT())
    timeout = Time.seconds(20)

    def show(name: str, stream: Any) -> None:
        print(name, stream.get_name(), stream.get_type(), list(stream.execute_and_collect()))

    show("slower", AsyncDataStream.ordered_wait(numbers, Slower(), timeout, 100, Types.INT()))
    show("capacity 1", AsyncDataStream.ordered_wait(numbers, Slower(), timeout, 1, Types.LONG()))
    show("capacity 3", AsyncDataStream.ordered_wait(numbers, Slower(), timeout, 3))
    show("several", AsyncDataStream.ordered_wait(numbers, AsManyAs(), timeout, output_type=Types.STRING()))
    show("iterables", AsyncDataStream.ordered_wait(numbers, Letters(), timeout))
    row_type = Types.ROW_NAMED(["id", "name"], [Types.INT(), Types.STRING()])
    rows = AsyncDataStream.ordered_wait(numbers, ToRow(), timeout, 10, row_type)
    show("rows", rows)
    show("fields", rows.map(lambda row: row[1], Types.STRING()))
    keyed = numbers.key_by(lambda number: number % 2, Types.INT())
    show("keyed", AsyncDataStream.ordered_wait(keyed, Shown(), timeout, output_type=Types.STRING()))
    twice = AsyncDataStream.ordered_wait(
        AsyncDataStream.ordered_wait(numbers, ToRow(), timeout, 2), Shown(), Time.seconds(5), 3
    )
    show("twice", twice)


if __name__ == "__main__":
    main()
