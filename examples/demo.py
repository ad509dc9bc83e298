"""Adds up card payments per shop and minute of event time, and sets aside those that come too late.

The payments are made up, the same in every run: five minutes of event time in about twelve seconds. Most are a few
seconds out of order, which the watermark allows for; a few are two and a half minutes late, when their minute has long
been closed.

    funke run examples/demo.py
"""

import argparse
import sys
from datetime import UTC, datetime

from pyflink.common import Duration, Row, Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import KeyedProcessFunction, OutputTag, RuntimeContext, StreamExecutionEnvironment
from pyflink.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
from pyflink.datastream.state import MapStateDescriptor

RECORDS = 60_000
RECORDS_PER_SECOND = 5_000

SHOPS = ["Accra", "Berlin", "Lima", "Osaka"]
START_MS = 1_767_261_600_000  # 2026-01-01 10:00 UTC
EVENT_TIME_MS = 300_000
MINUTE_MS = 60_000
DISORDER_MS = 5_000
LATE_BY_MS = 150_000
FIRST_LATE_MS = 180_000

PAYMENT = Types.ROW_NAMED(["shop", "cents", "time_ms"], [Types.STRING(), Types.LONG(), Types.LONG()])
TOTAL = Types.ROW_NAMED(
    ["shop", "minute_ms", "payments", "cents"], [Types.STRING(), Types.LONG(), Types.LONG(), Types.LONG()]
)
LATE = OutputTag("late payments", PAYMENT)


def mixed(index):
    """A number that looks random but is the same in every run."""
    index = (index ^ (index >> 16)) * 0x45D9F3B & 0xFFFFFFFF
    index = (index ^ (index >> 16)) * 0x45D9F3B & 0xFFFFFFFF
    return index ^ (index >> 16)


class MakePayment:
    """Makes the payment with the given number."""

    def __init__(self, records):
        self.records = records
        self.late_distance = max(1, records // 15)

    def map(self, index):
        number = mixed(index)
        elapsed_ms = index * EVENT_TIME_MS // self.records
        if elapsed_ms >= FIRST_LATE_MS and index % self.late_distance == 0:
            delay_ms = LATE_BY_MS
        else:
            delay_ms = min(elapsed_ms, number // 64 % DISORDER_MS)
        return Row(SHOPS[number % 4], 100 + number // 4 % 9_900, START_MS + elapsed_ms - delay_ms)


class PaymentTime(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value.time_ms


class MinuteTotals(KeyedProcessFunction):
    """Keeps payments and cents of every open minute, and emits them when the watermark has passed its end."""

    def open(self, runtime_context: RuntimeContext):
        totals = MapStateDescriptor("totals", Types.LONG(), Types.TUPLE([Types.LONG(), Types.LONG()]))
        self.totals = runtime_context.get_map_state(totals)
        self.late = runtime_context.get_metrics_group().counter("latePayments")

    def process_element(self, payment, ctx: KeyedProcessFunction.Context):
        end_ms = payment.time_ms - payment.time_ms % MINUTE_MS + MINUTE_MS
        if end_ms - 1 <= ctx.timer_service().current_watermark():
            self.late.inc()
            yield LATE, payment
            return
        payments, cents = self.totals.get(end_ms) or (0, 0)
        self.totals.put(end_ms, (payments + 1, cents + payment.cents))
        # The same timer again and again: there is only one for a key and a time.
        ctx.timer_service().register_event_time_timer(end_ms - 1)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext):
        end_ms = timestamp + 1
        payments, cents = self.totals.get(end_ms)
        self.totals.remove(end_ms)
        yield Row(ctx.get_current_key(), end_ms - MINUTE_MS, payments, cents)


def clock_text(time_ms):
    return f"{datetime.fromtimestamp(time_ms / 1000, UTC):%H:%M:%S}"


def total_text(total):
    minute = clock_text(total.minute_ms)[:5]
    return f"{minute}  {total.shop:<6}  {total.payments:>6} payments  {total.cents / 100:>12,.2f} EUR"


def late_text(payment):
    return f"{clock_text(payment.time_ms)}  {payment.shop}  {payment.cents / 100:.2f} EUR"


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=int, default=RECORDS)
    parser.add_argument("--rate", type=float, default=RECORDS_PER_SECOND, help="records per second")
    parser.add_argument("--parallelism", type=int, default=2)
    arguments = parser.parse_args(argv)

    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(arguments.parallelism)
    source = DataGeneratorSource(
        MakePayment(arguments.records), arguments.records, PAYMENT, RateLimiterStrategy.per_second(arguments.rate)
    )
    watermarks = WatermarkStrategy.for_bounded_out_of_orderness(
        Duration.of_millis(2 * DISORDER_MS)
    ).with_timestamp_assigner(PaymentTime())

    totals = (
        env.from_source(source, watermarks, "payments")
        .key_by(lambda payment: payment.shop, key_type=Types.STRING())
        .process(MinuteTotals(), output_type=TOTAL)
        .name("minute totals")
    )
    totals.map(total_text, output_type=Types.STRING()).print().set_parallelism(1)
    late = totals.get_side_output(LATE)
    late.map(late_text, output_type=Types.STRING()).print("too late").set_parallelism(1)
    print_summary(env.execute_async("payments per minute"), arguments.rate)


def print_summary(client, rate):
    """Waits for the job and tells what it did."""
    seconds = client.get_job_execution_result().result().get_net_runtime() / 1000
    metrics = client.get_metrics()
    records = metrics["records_read"]
    late = sum(value for name, value in metrics.items() if name.endswith("latePayments"))
    print(
        f"{records:,} records, of which {late} came too late, in {seconds:.0f} s: {records / seconds:,.0f} records/s, "
        f"because the source is paced at {rate:,.0f} a second (--rate N changes that)"
    )


if __name__ == "__main__":
    main(sys.argv[1:])
