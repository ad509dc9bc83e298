# compare: ordered
# parallelism: 1
"""The text of an exception in a user function reaches the client, with its type and the user's line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyflink.common import Types
from pyflink.datastream import KeyedProcessFunction, MapFunction, RuntimeContext, StreamExecutionEnvironment


class OrderError(Exception):
    pass


def fail_on_three(number: int) -> int:
    if number == 3:
        raise OrderError("cannot take number three")
    return number


class FailInOpen(MapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        raise RuntimeError("no connection in open")

    def map(self, value: int) -> int:
        return value


class FailInTimer(KeyedProcessFunction):
    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> None:
        ctx.timer_service().register_event_time_timer(value)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> None:
        raise ZeroDivisionError(f"timer {timestamp} broke")


def try_job(name: str, run: Callable[[], Any], *expected: str) -> None:
    try:
        run()
    except Exception as error:
        text = str(error)
        print(name, "failed:", [part for part in expected if part in text])
    else:
        print(name, "did not fail")


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    numbers = env.from_collection([1, 2, 3, 4], type_info=Types.INT())
    numbers.map(fail_on_three, Types.INT()).print()
    try_job("map", lambda: env.execute("fails"), "OrderError", "cannot take number three", "fail_on_three")
    opened = numbers.map(FailInOpen(), Types.INT())
    try_job("open", lambda: list(opened.execute_and_collect()), "RuntimeError", "no connection in open")
    timed = numbers.key_by(lambda number: number).process(FailInTimer(), Types.INT())
    try_job("timer", lambda: list(timed.execute_and_collect()), "ZeroDivisionError", "broke", "on_timer")
    wrong_key = numbers.key_by(lambda number: number["x"]).map(lambda number: number)
    try_job("key", lambda: list(wrong_key.execute_and_collect()), "TypeError", "not subscriptable")
    print("still works", numbers.execute_and_collect(limit=4))


if __name__ == "__main__":
    main()
