"""A job that takes some thousand records a second, however many come: what its processes hold must stay bounded.

python burst.py PORT        reads lines from a socket
"""

import sys
import time

from pyflink.datastream import StreamExecutionEnvironment

SECONDS_PER_RECORD = 0.0005


def work(line):
    time.sleep(SECONDS_PER_RECORD)
    return line


env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
env.enable_checkpointing(1000)
lines = env.socket_text_stream("127.0.0.1", int(sys.argv[1]))
lines.key_by(lambda line: line[:3]).map(work).filter(lambda line: False).print()
env.execute("burst")
