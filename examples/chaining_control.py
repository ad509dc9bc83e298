"""Controls which operators are chained, that is run in one task, and shows the resulting tasks.

funke run examples/chaining_control.py
funke run examples/chaining_control.py --no-chaining
"""

import argparse
import sys

from pyflink.common import Types
from pyflink.datastream import StreamExecutionEnvironment


def is_even(number):
    return number % 2 == 0


def square(number):
    return number * number


def negate(number):
    return -number


def describe(number):
    return f"result {number}"


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--no-chaining", action="store_true", help="every operator in a task of its own")
    arguments = parser.parse_args(argv)

    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    if arguments.no_chaining:
        env.disable_operator_chaining()

    numbers = env.from_collection(range(1, 7), type_info=Types.LONG())
    # The filter stays with the source; a new chain starts with the first map, and the second map is part of it.
    changed = (
        numbers.filter(is_even)
        .name("filter")
        .map(square, output_type=Types.LONG())
        .name("square")
        .start_new_chain()
        .map(negate, output_type=Types.LONG())
        .name("negate")
    )
    # This map is chained to nothing, before or behind it.
    changed.map(describe, output_type=Types.STRING()).name("describe").disable_chaining().print()
    env.execute("Chaining Control")


if __name__ == "__main__":
    main(sys.argv[1:])
