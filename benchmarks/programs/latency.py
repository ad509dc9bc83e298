"""How long a record takes from a socket through an exchange to a keyed function.

python latency.py RECORDS_PER_SECOND KEYS SECONDS      prints LATENCY <p50> <p99> <p99.9> in milliseconds
"""

import os
import subprocess
import sys
import tempfile
import time

from pyflink.common import Types
from pyflink.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from pyflink.datastream.connectors.discard import DiscardingSink
from pyflink.datastream.state import ValueStateDescriptor

FOLDER = tempfile.mkdtemp()
# The source reads before the slots have started; and what comes in the first second finds everything cold.
START_S, WARM_UP_S = 5.0, 1.0
# A process of its own: RECORDS_PER_SECOND KEYS SECONDS; prints its port.
SENDER = """
import socket, sys, time
rate, keys, seconds = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
connection, _ = listener.accept()
# Otherwise the sender's kernel holds records back for up to 40 ms, whoever receives them.
connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
began, sent = time.time(), 0
while (elapsed := time.time() - began) < seconds:
    due = int(elapsed * rate)
    if due > sent:
        now = time.time()
        connection.sendall("".join(f"{number % keys},{now}\\n" for number in range(sent, due)).encode())
        sent = due
    time.sleep(0.0005)
"""


class Measure(KeyedProcessFunction):
    """Counts for each key, and notes how old records are."""

    def open(self, runtime_context):
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))
        self.subtask = runtime_context.get_index_of_this_subtask()
        self.ages = []

    def process_element(self, value, ctx):
        self.count.update((self.count.value() or 0) + 1)
        self.ages.append((value[1], time.time() - value[1]))
        yield value

    def close(self):
        with open(os.path.join(FOLDER, str(self.subtask)), "w") as out:
            out.writelines(f"{sent} {age}\n" for sent, age in self.ages)


def parse(line):
    key, sent = line.split(",")
    return int(key), float(sent)


def main():
    rate, keys, seconds = sys.argv[1:4]
    lasting = str(float(seconds) + START_S + WARM_UP_S)
    sender = subprocess.Popen([sys.executable, "-c", SENDER, rate, keys, lasting], stdout=subprocess.PIPE, text=True)
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    lines = env.socket_text_stream("127.0.0.1", int(sender.stdout.readline()))
    lines.map(parse).key_by(lambda pair: pair[0]).process(Measure()).sink_to(DiscardingSink())
    env.execute("latency")
    sender.wait()
    measured = []
    for name in os.listdir(FOLDER):
        with open(os.path.join(FOLDER, name)) as lines:
            measured += [tuple(map(float, line.split())) for line in lines]
    first = min(sent + age for sent, age in measured) + WARM_UP_S
    ages = sorted(age * 1000 for sent, age in measured if sent >= first)
    print("LATENCY", *(round(ages[int(len(ages) * share)], 2) for share in (0.5, 0.99, 0.999)), len(ages))


if __name__ == "__main__":
    main()
