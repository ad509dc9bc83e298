"""Puts an operator, and those behind it, into a slot sharing group, so that they get slots of their own.

funke run examples/slot_sharing.py
"""

import sys

from pyflink.common import Types
from pyflink.datastream import SlotSharingGroup, StreamExecutionEnvironment


def is_large(number):
    return number >= 5


def main(argv=None):
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    numbers = env.from_collection(range(10), type_info=Types.LONG())
    large = numbers.filter(is_large).slot_sharing_group("filtering")
    # Operators inherit the group of their input; this one leaves it again.
    large.map(str, output_type=Types.STRING()).slot_sharing_group(SlotSharingGroup.builder("default").build()).print()
    env.execute("Slot Sharing")


if __name__ == "__main__":
    main(sys.argv[1:])
