"""Gives a job the state that it would have after years: balances of accounts, from data that is there already.

The balances are made into a savepoint, which is looked at as a DataFrame, corrected, and then started from.

    funke run examples/state_processor.py
"""

import sys
import tempfile

from funke.state_api import (
    KeyedStateBootstrapFunction,
    KeyedStateReaderFunction,
    OperatorTransformation,
    SavepointReader,
    SavepointWriter,
)
from pyflink.common import Configuration, Types
from pyflink.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from pyflink.datastream.state import ValueStateDescriptor

BALANCES = [("ann", 100), ("bob", 20), ("carl", 0)]
PAYMENTS = [("ann", -30), ("bob", -25), ("dora", 5), ("ann", 10)]
BALANCE = ValueStateDescriptor("balance", Types.LONG())


class Account(KeyedProcessFunction):
    """The job: keeps the balance of each account, and tells it after every payment."""

    def open(self, runtime_context: RuntimeContext):
        self.balance = runtime_context.get_state(BALANCE)

    def process_element(self, payment, ctx):
        balance = (self.balance.value() or 0) + payment[1]
        self.balance.update(balance)
        yield f"{payment[0]}: {balance}"


class FirstBalance(KeyedStateBootstrapFunction):
    """Writes the state that the job will find; the descriptor is the job's own."""

    def open(self, runtime_context: RuntimeContext):
        self.balance = runtime_context.get_state(BALANCE)

    def process_element(self, account, ctx):
        self.balance.update(account[1])


class ReadBalance(KeyedStateReaderFunction):
    """Reads the state of each key."""

    def open(self, runtime_context: RuntimeContext):
        self.balance = runtime_context.get_state(BALANCE)

    def read_key(self, key, ctx):
        yield key, self.balance.value()


def by_name(record):
    return record[0]


def make_savepoint(env, folder):
    accounts = env.from_collection(BALANCES)
    transformation = OperatorTransformation.bootstrap_with(accounts).key_by(by_name).transform(FirstBalance())
    SavepointWriter.new_savepoint(128).with_operator("accounts", transformation).write(f"{folder}/first")


def correct_savepoint(env, folder):
    """Every account gets ten more."""
    old = SavepointReader.read(env, f"{folder}/first").read_keyed_state("accounts", ReadBalance())
    richer = old.map(lambda account: (account[0], account[1] + 10))
    transformation = OperatorTransformation.bootstrap_with(richer).key_by(by_name).transform(FirstBalance())
    writer = SavepointWriter.from_existing_savepoint(f"{folder}/first")
    writer.remove_operator("accounts").with_operator("accounts", transformation).write(f"{folder}/corrected")


def show(env, path):
    frame = SavepointReader.read(env, path).read_state("accounts", BALANCE, key_type=Types.STRING())
    for row in frame.where("value > 0").orderBy("key").collect():
        print(f"{row.key} has {row.value}")


def pay(path):
    configuration = Configuration()
    configuration.set_string("execution.state-recovery.path", path)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    payments = env.from_collection(PAYMENTS)
    payments.key_by(by_name).process(Account(), Types.STRING()).uid("accounts").print()
    env.execute("Payments")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="funke-example-") as temporary:
        where = sys.argv[1] if len(sys.argv) > 1 else temporary
        environment = StreamExecutionEnvironment.get_execution_environment()
        make_savepoint(environment, where)
        show(environment, f"{where}/first")
        correct_savepoint(environment, where)
        pay(f"{where}/corrected")
