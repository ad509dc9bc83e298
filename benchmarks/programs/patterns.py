"""Patterns on Funke: small then large payments of 100 000 cards, and three steps with conditions over columns.

python patterns.py JOB INPUT WARM_UP_INPUT      prints the seconds and the processor seconds of the job, warm
"""

import sys
import time

from process_tree import cpu_s

from funke.cep import CEP, AfterMatchSkipStrategy, Pattern
from funke.common import Time, Types, WatermarkStrategy
from funke.common.watermark_strategy import TimestampAssigner
from funke.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from funke.datastream.connectors.discard import DiscardingSink
from funke.datastream.connectors.file_system import FileSource, StreamFormat
from funke.datastream.state import ValueStateDescriptor
from funke.table import StreamTableEnvironment
from funke.table.expressions import col

PAYMENT = Types.TUPLE([Types.STRING(), Types.LONG(), Types.DOUBLE()])
MINUTE_MS = 60_000
# Files have a row every 10 ms; of 100 000 cards, some are used twice within a minute then.
FASTER = 100


def parse(line):
    card, timestamp, amount = line.split(",")
    return card, int(timestamp) // FASTER, float(amount)


class TimeOfPayment(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[1]


class SmallThenLarge(KeyedProcessFunction):
    """The pattern by hand, as in Flink's tutorial of fraud detection."""

    def open(self, runtime_context):
        self.small = runtime_context.get_state(ValueStateDescriptor("small", PAYMENT))
        self.timer = runtime_context.get_state(ValueStateDescriptor("timer", Types.LONG()))

    def process_element(self, value, ctx):
        small = self.small.value()
        if small is not None:
            if value[2] > 50.0:
                yield small, value
            ctx.timer_service().delete_event_time_timer(self.timer.value())
            self.small.clear()
            self.timer.clear()
        if value[2] < 10.0:
            timer = value[1] + MINUTE_MS
            ctx.timer_service().register_event_time_timer(timer)
            self.small.update(value)
            self.timer.update(timer)

    def on_timer(self, timestamp, ctx):
        self.small.clear()
        self.timer.clear()


def payments(env, path):
    source = FileSource.for_record_stream_format(StreamFormat.text_line_format(), path).build()
    lines = env.from_source(source, WatermarkStrategy.no_watermarks(), "lines")
    times = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(TimeOfPayment())
    return lines.map(parse, PAYMENT).assign_timestamps_and_watermarks(times).key_by(lambda payment: payment[0])


def by_hand(env, path):
    payments(env, path).process(SmallThenLarge()).sink_to(DiscardingSink())
    env.execute("by hand")


def lambdas(env, path):
    pattern = (
        Pattern.begin("small")
        .where(lambda payment: payment[2] < 10.0)
        .next("large")
        .where(lambda payment: payment[2] > 50.0)
        .within(Time.minutes(1))
    )
    matches = CEP.pattern(payments(env, path), pattern)
    matches.select(lambda match: (match["small"][0], match["large"][0])).sink_to(DiscardingSink())
    env.execute("lambdas")


def table(env, path):
    t_env = StreamTableEnvironment.create(env)
    t_env.execute_sql(
        f"""CREATE TABLE payments (
                card STRING, ms BIGINT, amount DOUBLE, ts AS TO_TIMESTAMP_LTZ(ms / {FASTER}, 3), WATERMARK FOR ts AS ts
            ) WITH ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'csv')"""
    )
    return t_env


def columns(env, path):
    t_env = table(env, path)
    cards = t_env.to_data_stream(t_env.sql_query("SELECT card, amount, ts FROM payments"))
    pattern = (
        Pattern.begin("first", AfterMatchSkipStrategy.skip_past_last_event())
        .where(col("amount") < 10)
        .followed_by("second")
        .where((col("amount") > 20) & (col("amount") < 30))
        .followed_by("third")
        .where(col("amount") > 80)
        .within(Time.minutes(1))
    )
    matches = CEP.pattern(cards.key_by(lambda payment: payment.card), pattern)
    matches.select(lambda match: (match["first"][0], match["third"][0])).sink_to(DiscardingSink())
    env.execute("columns")


def match_recognize(env, path):
    t_env = table(env, path)
    t_env.execute_sql("CREATE TABLE sink (card STRING, starts DOUBLE, ends DOUBLE) WITH ('connector' = 'blackhole')")
    t_env.execute_sql(
        """INSERT INTO sink SELECT * FROM payments MATCH_RECOGNIZE (
               PARTITION BY card ORDER BY ts MEASURES A.amount AS starts, C.amount AS ends
               ONE ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW
               PATTERN (A {- X*? -} B {- X*? -} C) WITHIN INTERVAL '1' MINUTE
               DEFINE A AS A.amount < 10, B AS B.amount > 20 AND B.amount < 30, C AS C.amount > 80)"""
    ).wait()


JOBS = {each.__name__: each for each in (by_hand, lambdas, columns, match_recognize)}


def run(job, path):
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    began, cpu = time.perf_counter(), cpu_s()
    JOBS[job](env, path)
    return time.perf_counter() - began, cpu_s() - cpu


if __name__ == "__main__":
    job, path, warm_up = sys.argv[1:]
    run(job, warm_up)
    seconds, cpu = run(job, path)
    print("SECONDS", seconds)
    print("CPU", cpu)
