"""Counts words as they arrive on a socket: the running count of every word, or the counts of every few seconds.

Start a server, for example `nc -lk 9999`, then:

    funke run examples/word_count.py --host localhost --port 9999
    funke run examples/word_count.py --host localhost --port 9999 --window 5

It ends when the server closes the connection.
"""

import argparse
import re
import sys

from pyflink.common import Time, Types
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.window import TumblingProcessingTimeWindows


def split_words(line):
    for word in re.findall(r"\w+", line.lower()):
        yield word, 1


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--host", default="localhost")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--window", type=int, default=0, metavar="SECONDS", help="count per window of so many seconds")
    arguments = parser.parse_args(argv)

    env = StreamExecutionEnvironment.get_execution_environment()
    words = (
        env.socket_text_stream(arguments.host, arguments.port)
        .flat_map(split_words, output_type=Types.TUPLE([Types.STRING(), Types.LONG()]))
        .key_by(lambda word_and_count: word_and_count[0])
    )
    grouped = (
        words.window(TumblingProcessingTimeWindows.of(Time.seconds(arguments.window))) if arguments.window else words
    )
    grouped.sum(1).print()
    env.execute("Socket Word Count")


if __name__ == "__main__":
    main(sys.argv[1:])
