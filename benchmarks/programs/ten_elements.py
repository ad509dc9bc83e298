"""The smallest keyed program: its whole time is that of starting. Runs unchanged on PyFlink and on Funke."""

from pyflink.datastream import StreamExecutionEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
pairs = env.from_collection([(number % 3, number) for number in range(10)])
doubled = pairs.map(lambda pair: (pair[0], pair[1] * 2))
doubled.key_by(lambda pair: pair[0]).reduce(lambda a, b: (a[0], a[1] + b[1])).print()
env.execute()
