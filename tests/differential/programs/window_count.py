# compare: unordered
# parallelism: 1
"""Count windows per key, tumbling and sliding; what does not fill a window is never emitted."""

from __future__ import annotations

from collections.abc import Iterable

from pyflink.common import Types
from pyflink.datastream import ProcessWindowFunction, StreamExecutionEnvironment, WindowFunction
from pyflink.datastream.window import CountTrigger, CountWindow, GlobalWindow, GlobalWindows, PurgingTrigger


class Text(WindowFunction[tuple, str, str, CountWindow]):
    def __init__(self, name: str) -> None:
        self.name = name

    def apply(self, key: str, window: CountWindow, inputs: Iterable[tuple[str, int]]) -> Iterable[str]:
        yield f"{self.name} {key} {window.id} {[number for _, number in inputs]}"


class Everything(ProcessWindowFunction[tuple, str, str, GlobalWindow]):
    def __init__(self, name: str) -> None:
        self.name = name

    def process(
        self, key: str, context: ProcessWindowFunction.Context[GlobalWindow], elements: Iterable[tuple[str, int]]
    ) -> Iterable[str]:
        yield f"{self.name} {key} {[number for _, number in elements]}"


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    data = [("a" if number % 3 else "b", number) for number in range(1, 17)]
    keyed = env.from_collection(data, Types.TUPLE([Types.STRING(), Types.INT()])).key_by(
        lambda value: value[0], Types.STRING()
    )
    keyed.count_window(3).apply(Text("tumbling"), Types.STRING()).print()
    keyed.count_window(4, 2).apply(Text("sliding"), Types.STRING()).print()
    keyed.count_window(2, 3).apply(Text("gaps"), Types.STRING()).print()
    keyed.count_window(3).reduce(lambda a, b: (a[0], a[1] + b[1])).print()
    keyed.window(GlobalWindows.create()).process(Everything("never"), Types.STRING()).print()
    counting = CountTrigger.of(3)
    keyed.window(GlobalWindows.create()).trigger(counting).process(Everything("all so far"), Types.STRING()).print()
    purging = PurgingTrigger.of(CountTrigger.of(3))
    keyed.window(GlobalWindows.create()).trigger(purging).process(Everything("purging"), Types.STRING()).print()
    env.execute("count windows")


if __name__ == "__main__":
    main()
