"""What happens when a job fails: the restart strategies, by configuration and in the style of Flink 1.x.

funke run examples/restart_strategies.py
funke run examples/restart_strategies.py --strategy failure-rate
"""

import argparse
import sys

from pyflink.common import Configuration, RestartStrategies, Types
from pyflink.datastream import StreamExecutionEnvironment

STRATEGIES = {
    "none": RestartStrategies.no_restart(),
    # Up to 3 restarts, 10 s after each failure.
    "fixed-delay": RestartStrategies.fixed_delay_restart(3, 10_000),
    # As long as there are no more than 3 failures within 5 minutes, 10 s after each.
    "failure-rate": RestartStrategies.failure_rate_restart(3, 5 * 60_000, 10_000),
}

CONFIGURATIONS = {
    "none": {"restart-strategy.type": "none"},
    "fixed-delay": {
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.attempts": "3",
        "restart-strategy.fixed-delay.delay": "10 s",
    },
    "failure-rate": {
        "restart-strategy.type": "failure-rate",
        "restart-strategy.failure-rate.max-failures-per-interval": "3",
        "restart-strategy.failure-rate.failure-rate-interval": "5 min",
        "restart-strategy.failure-rate.delay": "10 s",
    },
}


def configured_environment(strategy):
    return StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(CONFIGURATIONS[strategy]))


def environment_with_strategy(strategy):
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_restart_strategy(STRATEGIES[strategy])
    return env


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--strategy", choices=sorted(STRATEGIES), default="fixed-delay")
    strategy = parser.parse_args(argv).strategy
    for make_environment in (configured_environment, environment_with_strategy):
        env = make_environment(strategy)
        env.from_collection(["ran"], type_info=Types.STRING()).print(strategy)
        env.execute(f"Restart Strategy {strategy}")


if __name__ == "__main__":
    main(sys.argv[1:])
