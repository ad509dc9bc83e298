"""Every checkpoint setting of a program, with what it means.

funke run examples/checkpoint_settings.py
"""

import sys

from pyflink.common import Duration, Types
from pyflink.datastream import CheckpointingMode, ExternalizedCheckpointRetention, StreamExecutionEnvironment


def configure(env):
    # Start a checkpoint every second.
    env.enable_checkpointing(1000)
    config = env.get_checkpoint_config()
    config.set_checkpointing_mode(CheckpointingMode.EXACTLY_ONCE)
    # A checkpoint that takes longer than a minute is given up.
    config.set_checkpoint_timeout(60_000)
    # At least 1.5 s between the end of one checkpoint and the start of the next; then only one runs at a time.
    config.set_min_pause_between_checkpoints(1500)
    config.set_max_concurrent_checkpoints(1)
    # This many failed checkpoints do not fail the job.
    config.set_tolerable_checkpoint_failure_number(3)
    # Keep the last checkpoint when the job is cancelled.
    config.set_externalized_checkpoint_retention(ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION)
    config.enable_unaligned_checkpoints()
    config.set_aligned_checkpoint_timeout(Duration.of_seconds(30))
    return config


def main(argv=None):
    env = StreamExecutionEnvironment.get_execution_environment()
    config = configure(env)
    print(f"a checkpoint every {config.get_checkpoint_interval()} ms, mode {config.get_checkpointing_mode().name}")
    env.from_collection([1, 2, 3], type_info=Types.INT()).map(lambda n: n * 10, output_type=Types.INT()).print()
    env.execute("Checkpoint Settings")


if __name__ == "__main__":
    main(sys.argv[1:])
