"""What every program consists of: an environment, a source, a transformation, a sink, and `execute`.

seq 10 > /tmp/numbers.txt
funke run examples/program_skeleton.py /tmp/numbers.txt
"""

import sys

from pyflink.common import Types
from pyflink.datastream import MapFunction, StreamExecutionEnvironment


class ParseInt(MapFunction):
    def map(self, value):
        return int(value)


def main(argv):
    # 1. Get an environment.
    env = StreamExecutionEnvironment.get_execution_environment()
    # 2. Load the data; a path or a URI such as file:///path/to/file.
    text = env.read_text_file(argv[0])
    # 3. Transform it. Nothing is computed yet.
    numbers = text.map(ParseInt(), output_type=Types.INT())
    # 4. Say where the results go.
    numbers.print()
    # 5. Run it.
    env.execute("Program Skeleton")


if __name__ == "__main__":
    main(sys.argv[1:])
