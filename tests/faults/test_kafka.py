"""Kafka in, a keyed sum, a topic and a table out, exactly once: whatever dies, moves or hangs up on the way.

`tools/kafka_soak.py --faults` goes through every named step, and lets brokers be away for longer.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import cloudpickle
import pytest

from funke.common import Configuration
from funke.datastream import StreamExecutionEnvironment
from funke.datastream.connectors.jdbc import JdbcConnectionOptions
from tests.harness.exact_files import wait_until
from tests.harness.postgres_server import PASSWORD, USER
from tools import kafka_soak_job
from tools.kafka_soak_job import Systems, build, table
from tools.transfers import TransferWriter, committed, outcome, rows

if TYPE_CHECKING:
    from tests.harness.kafka_broker import KafkaBroker
    from tests.harness.postgres_server import PostgresServer

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300), pytest.mark.usefixtures("spark")]

# The database hangs up after so many rows, and after as many again.
CLOSED_AFTER = 1_000


@pytest.fixture(scope="module", autouse=True)
def functions_by_value() -> Iterator[None]:
    cloudpickle.register_pickle_by_value(kafka_soak_job)
    yield
    cloudpickle.unregister_pickle_by_value(kafka_soak_job)


def systems(kafka: KafkaBroker, postgres: PostgresServer, replicas: int = 1) -> Systems:
    source, target = (f"{name}_{uuid4().hex[:8]}" for name in ("transfers", "balances"))
    for topic in (source, target):
        kafka.create_topic(topic, 4, replicas)
    postgres.run(table(target))
    database = JdbcConnectionOptions.JdbcConnectionOptionsBuilder().with_url(postgres.jdbc_url)
    database = database.with_user_name(USER).with_password(PASSWORD)
    return Systems(kafka.bootstrap_servers, database.build(), source, target)


@contextlib.contextmanager
def running(own: Systems, folder: Path, **options: str) -> Iterator[Any]:
    """The client of the job, which has no end of its own."""
    configuration = Configuration()
    settings = {
        "execution.checkpointing.interval": "300 ms",
        "execution.checkpointing.dir": str(folder / "checkpoints"),
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.attempts": "20",
        "restart-strategy.fixed-delay.delay": "100 ms",
        **options,
    }
    for key, value in settings.items():
        configuration.set_string(key, value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(2)
    build(env, own)
    client = env.execute_async("transfers")
    try:
        yield client
    finally:
        if not client.get_job_execution_result().done():
            client.cancel().result()


def finish(kafka: KafkaBroker, postgres: PostgresServer, own: Systems, client: Any, writer: TransferWriter) -> None:
    """Waits until topic and table have everything, ends the job, and looks whether that is all they have."""
    count = writer.finish()
    assert len(committed(kafka, own.target, count, 60)) == count
    wait_until(lambda: len(rows(postgres, own.target)) >= count)
    client.cancel().result()
    for balances in (committed(kafka, own.target, count + 1, 2), rows(postgres, own.target)):
        assert outcome(balances, count).is_exact, outcome(balances, count)


def close_connections(postgres: PostgresServer, name: str, rows_until_then: int) -> None:
    """Makes the database close a connection after so many rows of a table, and another one after as many again."""
    postgres.run(
        # Not undone with the transaction.
        f"create sequence {name}_written",
        f"""create function {name}_count() returns trigger language plpgsql as $$ begin
            if nextval('{name}_written') in ({rows_until_then}, {2 * rows_until_then}) then
                perform pg_terminate_backend(pg_backend_pid());
            end if;
            return new;
        end $$""",
        f"create trigger counting before insert on {name} for each row execute function {name}_count()",
    )


def test_slots_that_die_lose_and_double_nothing(kafka: KafkaBroker, postgres: PostgresServer, tmp_path: Path) -> None:
    own = systems(kafka, postgres)
    marks = tmp_path / "faults"
    faults = ("before-reading:20:kill", "after-barrier:3:kill", "after-metadata:2:raise", "between-commits:3:raise")
    plans = [f"{each}@{marks}" for each in (*faults, "after-metadata:3:sleep=1.5")]
    close_connections(postgres, own.target, CLOSED_AFTER)
    with running(own, tmp_path, **{"funke.fault": ",".join(plans)}) as client:
        writer = TransferWriter(kafka.bootstrap_servers, own.source, per_second=500)
        # Transfers come until all that was planned has happened, however long that takes.
        try:
            wait_until(lambda: marks.is_dir() and len(list(marks.glob("*.*"))) == len(plans))
            # Rows that were undone were counted, too.
            counted = f"select last_value from {own.target}_written"
            wait_until(lambda: postgres.rows(counted)[0][0] > 2 * CLOSED_AFTER)
        finally:
            writer.stop()
        finish(kafka, postgres, own, client, writer)


def test_leaders_move_and_the_broker_that_leads_is_killed(postgres: PostgresServer, tmp_path: Path) -> None:
    from tests.harness.kafka_broker import BrokerUnavailableError
    from tests.harness.kafka_cluster import BrokerCluster

    try:
        cluster = BrokerCluster(2)
    except BrokerUnavailableError as reason:
        pytest.skip(str(reason))
    with contextlib.closing(cluster), contextlib.ExitStack() as stack:
        cluster.start()
        kafka = cluster.address
        own = systems(kafka, postgres, replicas=2)
        client = stack.enter_context(running(own, tmp_path))
        writer = TransferWriter(kafka.bootstrap_servers, own.source, per_second=200)
        stack.callback(writer.stop)
        assert committed(kafka, own.target, 1, 120)
        for leader in (1, 2):
            cluster.move_leaders(leader)
            await_progress(kafka, own.target)
        cluster.kill(2)
        await_progress(kafka, own.target)
        finish(kafka, postgres, own, client, writer)


def await_progress(kafka: KafkaBroker, topic: str) -> None:
    """Waits until more is committed than now."""
    before = len(committed(kafka, topic, 10**9, 1))
    assert len(committed(kafka, topic, before + 1, 60)) > before
