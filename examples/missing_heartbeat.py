"""A heartbeat that does not come: no second one follows within two seconds."""

from funke.cep import CEP, Pattern
from funke.common import Time, Types, WatermarkStrategy
from funke.common.watermark_strategy import TimestampAssigner
from funke.datastream import StreamExecutionEnvironment

HEARTBEATS = [("pump", 0), ("fan", 500), ("pump", 1_000), ("pump", 2_500), ("fan", 6_000)]


class TimeOfHeartbeat(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[1]


def main():
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    times = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(TimeOfHeartbeat())
    heartbeats = env.from_collection(HEARTBEATS, Types.TUPLE([Types.STRING(), Types.LONG()]))
    keyed = heartbeats.assign_timestamps_and_watermarks(times).key_by(lambda heartbeat: heartbeat[0])
    silence = Pattern.begin("last").not_followed_by("next").where(lambda heartbeat: True).within(Time.seconds(2))
    CEP.pattern(keyed, silence).select(
        lambda match: f"{match['last'][0][0]} is silent since {match['last'][0][1]}", output_type=Types.STRING()
    ).print()
    env.execute("missing heartbeat")


if __name__ == "__main__":
    main()
