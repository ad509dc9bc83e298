"""A job that runs until it is told to end: how soon it runs is what is measured."""

from pyflink.common import WatermarkStrategy
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.connectors.number_seq import NumberSequenceSource

env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
numbers = env.from_source(NumberSequenceSource(0, 10**12), WatermarkStrategy.no_watermarks(), "numbers")
numbers.key_by(lambda number: number % 10).filter(lambda number: False).print()
env.execute("waiting")
