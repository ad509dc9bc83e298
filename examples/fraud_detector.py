"""Finds accounts where a tiny payment is followed by a large one within a minute.

This is the fraud detector of Flink's documentation: keyed state remembers that the last payment was tiny, and a timer
forgets it after a minute.

    funke run examples/fraud_detector.py
"""

import sys

from pyflink.common import Duration, Row, Types, WatermarkStrategy
from pyflink.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from pyflink.datastream.connectors.python import PythonSource
from pyflink.datastream.state import ValueStateDescriptor

SMALL_AMOUNT = 1.00
LARGE_AMOUNT = 500.00
ONE_MINUTE = 60 * 1000

START = 1_700_000_000_000
# Account, seconds after the start, amount.
PAYMENTS = [
    (1, 0, 188.23),
    (2, 1, 0.50),
    (3, 2, 0.99),
    (2, 8, 620.00),  # fraud: 7 s after 0.50
    (4, 9, 0.10),
    (3, 30, 12.40),  # neither small nor large: the flag of account 3 goes
    (3, 34, 900.00),
    (5, 40, 0.75),
    (1, 41, 701.00),
    (4, 75, 999.99),  # 66 s after 0.10: too late to be fraud
    (5, 95, 500.00),  # not more than 500
    (5, 96, 0.20),
    (5, 97, 0.30),  # small again: the minute starts anew
    (5, 156, 510.00),  # fraud: 59 s after 0.30
    (2, 160, 650.00),
    (1, 200, 0.01),
    (1, 201, 20_000.00),  # fraud
]


class TransactionSource(PythonSource):
    """A bounded source: one split with all payments."""

    with_timestamps = True
    produced_type = Types.ROW_NAMED(["account_id", "timestamp", "amount"], [Types.LONG(), Types.LONG(), Types.DOUBLE()])

    def enumerate_splits(self):
        return ["payments"]

    def read_split(self, split):
        for account_id, seconds, amount in PAYMENTS:
            timestamp = START + seconds * 1000
            yield Row(account_id=account_id, timestamp=timestamp, amount=amount), timestamp


class FraudDetector(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext):
        self.flag_state = runtime_context.get_state(ValueStateDescriptor("flag", Types.BOOLEAN()))
        self.timer_state = runtime_context.get_state(ValueStateDescriptor("timer-state", Types.LONG()))

    def process_element(self, transaction, ctx: KeyedProcessFunction.Context):
        if self.flag_state.value():
            # The timer only tidies up: watermarks come now and then, so it may fire after a later payment.
            is_in_time = ctx.timestamp() < self.timer_state.value()
            if is_in_time and transaction.amount > LARGE_AMOUNT:
                yield Row(id=transaction.account_id)
            self.clean_up(ctx)

        if transaction.amount < SMALL_AMOUNT:
            self.flag_state.update(True)
            timer = ctx.timestamp() + ONE_MINUTE
            ctx.timer_service().register_event_time_timer(timer)
            self.timer_state.update(timer)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext):
        # A flag that was set anew has a later timer.
        if self.timer_state.value() == timestamp:
            self.flag_state.clear()
            self.timer_state.clear()

    def clean_up(self, ctx: KeyedProcessFunction.Context):
        ctx.timer_service().delete_event_time_timer(self.timer_state.value())
        self.flag_state.clear()
        self.timer_state.clear()


class AlertSink:
    """A sink in Python: `invoke` is called for every alert."""

    def invoke(self, alert, context):
        print(f"Alert{{id={alert.id}}}")


def main(argv=None):
    env = StreamExecutionEnvironment.get_execution_environment()
    watermarks = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(1))
    transactions = env.from_source(TransactionSource(), watermarks, "transactions")
    alerts = (
        transactions.key_by(lambda transaction: transaction.account_id, key_type=Types.LONG())
        .process(FraudDetector(), output_type=Types.ROW_NAMED(["id"], [Types.LONG()]))
        .name("fraud-detector")
    )
    alerts.add_sink(AlertSink()).name("send-alerts")
    env.execute("Fraud Detection")


if __name__ == "__main__":
    main(sys.argv[1:])
