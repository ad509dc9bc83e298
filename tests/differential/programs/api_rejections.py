# compare: ordered
# parallelism: 1
"""Calls that are refused while the program is built, with the type of the error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyflink.common import Row, Types
from pyflink.datastream import KeyedProcessFunction, ProcessFunction, StreamExecutionEnvironment
from pyflink.datastream.output_tag import OutputTag


def rejected(name: str, call: Callable[[], Any]) -> None:
    try:
        call()
    except (TypeError, ValueError, AttributeError) as error:
        print(name, type(error).__name__)
    except Exception:
        print(name, "refused")
    else:
        print(name, "accepted")


class PlainProcess(ProcessFunction):
    def process_element(self, value: int, ctx: ProcessFunction.Context) -> None:
        pass


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    numbers = env.from_collection([1, 2], type_info=Types.INT())
    keyed = numbers.key_by(lambda number: number)
    rejected("map", lambda: numbers.map("text"))
    rejected("flat_map", lambda: numbers.flat_map(1))
    rejected("filter", lambda: numbers.filter(None))
    rejected("key_by", lambda: numbers.key_by("field"))
    rejected("reduce", lambda: keyed.reduce(1))
    rejected("keyed process", lambda: keyed.process(PlainProcess()))
    rejected("partition_custom", lambda: numbers.partition_custom(1, lambda number: number))
    rejected("broadcast", lambda: numbers.broadcast("not a descriptor"))
    for name in ("rebalance", "rescale", "shuffle", "forward", "broadcast", "get_name", "force_non_parallel", "cache"):
        rejected(f"keyed {name}", getattr(keyed, name))
    for name in ("name", "uid", "set_parallelism", "set_max_parallelism", "set_buffer_timeout"):
        rejected(f"keyed {name}", lambda name=name: getattr(keyed, name)(1))
    for name in ("start_new_chain", "disable_chaining"):
        rejected(f"keyed {name}", getattr(keyed, name))
    rejected("sum", lambda: keyed.sum(1.5))
    rejected("row", lambda: Row(1, a=2))
    rejected("row field", lambda: Row(a=1).b)
    rejected("row dict", lambda: Row(1).as_dict())
    rejected("tag", lambda: OutputTag(None))
    rejected("empty tag", lambda: OutputTag(""))
    rejected("abstract", KeyedProcessFunction)
    rejected("no operators", lambda: StreamExecutionEnvironment.get_execution_environment().execute())


if __name__ == "__main__":
    main()
