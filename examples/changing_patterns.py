"""Patterns that change while the job runs: the limits of a fraud pattern are replaced at a given event time.

The definitions come with a stream of their own; here it is a file of lines, elsewhere a Kafka topic.
"""

import json

from funke.cep import CEP, AfterMatchSkipStrategy, Pattern, PatternProcessFunction
from funke.common import Row, Time, Types, WatermarkStrategy
from funke.common.watermark_strategy import TimestampAssigner
from funke.datastream import StreamExecutionEnvironment

PAYMENT = Types.ROW_NAMED(["card", "amount", "time"], [Types.STRING(), Types.DOUBLE(), Types.LONG()])
PAYMENTS = [
    ("card 1", 0.5, 1_000),
    ("card 1", 700.0, 2_000),
    ("card 2", 5.0, 3_000),
    ("card 2", 900.0, 4_000),
    ("card 3", 5.0, 11_000),
    ("card 3", 800.0, 12_000),
]


class TimeOfPayment(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value.time


class Alert(PatternProcessFunction):
    def process_match(self, match, ctx):
        small, large = match["small"][0], match["large"][0]
        yield f"version {ctx.pattern_version()}: {small.card} paid {small.amount}, then {large.amount}"


def small_then_large(limit):
    return (
        Pattern.begin("small", AfterMatchSkipStrategy.skip_past_last_event())
        .where(f"amount < {limit}")
        .next("large")
        .where("amount > 500")
        .within(Time.minutes(1))
    )


def main():
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    definitions = env.from_collection(
        [
            json.dumps({"id": "fraud", "version": 1, "from": 0, "pattern": small_then_large(1).to_json()}),
            json.dumps({"id": "fraud", "version": 2, "from": 10_000, "pattern": small_then_large(10).to_json()}),
        ],
        Types.STRING(),
    )
    times = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(TimeOfPayment())
    payments = env.from_collection([Row(*payment) for payment in PAYMENTS], PAYMENT)
    keyed = payments.assign_timestamps_and_watermarks(times).key_by(lambda payment: payment.card)
    CEP.dynamic_patterns(keyed, definitions).process(Alert(), Types.STRING()).print()
    env.execute("changing patterns")


if __name__ == "__main__":
    main()
