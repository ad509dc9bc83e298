# compare: unordered
# parallelism: 2
"""A small amount followed by a large one within a minute raises an alert: state, timers and event time together."""

from __future__ import annotations

from collections.abc import Iterator

from pyflink.common import Row, Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from pyflink.datastream.state import ValueStateDescriptor

MINUTE_MS = 60_000
TRANSACTION = Types.ROW_NAMED(["account", "time", "amount"], [Types.INT(), Types.LONG(), Types.DOUBLE()])


class TransactionTime(TimestampAssigner):
    def extract_timestamp(self, value: Row, record_timestamp: int) -> int:
        return int(value.time)


class Detector(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.was_small = runtime_context.get_state(ValueStateDescriptor("was small", Types.BOOLEAN()))
        self.timer = runtime_context.get_state(ValueStateDescriptor("timer", Types.LONG()))

    def process_element(self, value: Row, ctx: KeyedProcessFunction.Context) -> Iterator[str]:
        if self.was_small.value() is not None:
            if value.amount > 500:
                yield f"alert {value.account} {value.amount} at {value.time}"
            ctx.timer_service().delete_event_time_timer(self.timer.value())
            self.timer.clear()
            self.was_small.clear()
        if value.amount < 1:
            self.was_small.update(True)
            self.timer.update(ctx.timestamp() + MINUTE_MS)
            ctx.timer_service().register_event_time_timer(ctx.timestamp() + MINUTE_MS)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[str]:
        self.timer.clear()
        self.was_small.clear()
        yield f"forgotten {ctx.get_current_key()} at {timestamp}"


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    # One subtask up to the exchange keeps the order within an account.
    env.set_parallelism(1)
    transactions = env.from_collection(
        [
            (1, 0, 188.23),
            (2, 1000, 0.5),
            (1, 2000, 0.09),
            (2, 3000, 80.0),
            (1, 4000, 987.5),
            (3, 5000, 0.99),
            (2, 6000, 700.0),
            (3, 7000, 500.01),
            (1, 8000, 0.1),
            (2, 9000, 0.2),
            (2, 10000, 0.3),
            (2, 11000, 600.0),
        ],
        type_info=TRANSACTION,
    )
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(TransactionTime())
    timed = transactions.assign_timestamps_and_watermarks(strategy)
    keyed = timed.key_by(lambda row: row.account, Types.INT())
    keyed.process(Detector(), Types.STRING()).set_parallelism(2).print()
    env.execute("fraud detection")


if __name__ == "__main__":
    main()
