"""Fraud: a card is tried with a small payment, and a large one follows within a minute. Conditions are columns."""

from funke.cep import CEP, AfterMatchSkipStrategy, Pattern
from funke.common import Row, Time, Types, WatermarkStrategy
from funke.common.watermark_strategy import TimestampAssigner
from funke.datastream import StreamExecutionEnvironment
from funke.table.expressions import col

PAYMENT = Types.ROW_NAMED(["card", "amount", "time"], [Types.STRING(), Types.DOUBLE(), Types.LONG()])
PAYMENTS = [
    ("card 1", 0.5, 1_000),
    ("card 2", 0.9, 1_500),
    ("card 1", 12.0, 2_000),
    ("card 1", 700.0, 30_000),
    ("card 2", 900.0, 70_000),
]


class TimeOfPayment(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value.time


def main():
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    times = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(TimeOfPayment())
    payments = env.from_collection([Row(*payment) for payment in PAYMENTS], PAYMENT)
    keyed = payments.assign_timestamps_and_watermarks(times).key_by(lambda payment: payment.card)
    small_then_large = (
        Pattern.begin("small", AfterMatchSkipStrategy.skip_past_last_event())
        .where(col("amount") < 1)
        .followed_by("large")
        .where(col("amount") > 500)
        .within(Time.minutes(1))
    )
    CEP.pattern(keyed, small_then_large).select(
        lambda match: f"{match['large'][0].card} paid {match['small'][0].amount}, then {match['large'][0].amount}",
        output_type=Types.STRING(),
    ).print()
    env.execute("card testing")


if __name__ == "__main__":
    main()
