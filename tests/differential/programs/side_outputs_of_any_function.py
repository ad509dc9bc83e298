# compare: ordered
# parallelism: 1
"""Side outputs of map, flat_map and co_flat_map; one that nobody reads; streams that are collected job after job."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyflink.common import Types
from pyflink.datastream import DataStream, FlatMapFunction, MapFunction, StreamExecutionEnvironment
from pyflink.datastream.functions import CoFlatMapFunction
from pyflink.datastream.output_tag import OutputTag

ODD = OutputTag("odd", Types.STRING())


class MapToEither(MapFunction):
    def map(self, value: int) -> Any:
        return (ODD, f"odd {value}") if value % 2 else value


class FlatMapToBoth(FlatMapFunction):
    def flat_map(self, value: int) -> Iterator[Any]:
        yield value
        yield ODD, f"also {value}"


class CoFlatMapToBoth(CoFlatMapFunction):
    def flat_map1(self, value: int) -> Iterator[Any]:
        yield value

    def flat_map2(self, value: int) -> Iterator[Any]:
        yield ODD, f"second {value}"


def show(name: str, stream: DataStream) -> None:
    with stream.execute_and_collect() as results:
        print(name, sorted(results))


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    numbers = env.from_collection([1, 2, 3], type_info=Types.INT())
    keyed = numbers.key_by(lambda number: number, key_type=Types.INT())
    for name, stream in {
        "map": numbers.map(MapToEither(), output_type=Types.INT()),
        "keyed map": keyed.map(MapToEither(), output_type=Types.INT()),
        "flat_map": numbers.flat_map(FlatMapToBoth(), output_type=Types.INT()),
        "keyed flat_map": keyed.flat_map(FlatMapToBoth(), output_type=Types.INT()),
        "co_flat_map": numbers.connect(numbers).flat_map(CoFlatMapToBoth(), output_type=Types.INT()),
    }.items():
        side = stream.get_side_output(ODD)
        show(name, stream)
        show(f"{name}, side", side)
        show(f"{name} again", stream)


if __name__ == "__main__":
    main()
