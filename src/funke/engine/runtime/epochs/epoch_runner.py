"""Runs epochs as Spark jobs: commands to read, then one shuffle and one delivery stage per level, then the results."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from funke.engine.operators.source import ReadCommand
from funke.engine.planner.plan import SOURCE_LEVEL, Plan
from funke.engine.runtime.blocks.block_codec import decode, encode
from funke.engine.runtime.blocks.frames import ROWS, Frame
from funke.engine.runtime.blocks.row_blocks import row_frames
from funke.engine.runtime.epochs.delivery import (
    command_reading,
    consumed_at,
    deliver,
    end_slots,
    executor_pid,
    send_notifications,
    start_error,
    start_slot,
)
from funke.engine.runtime.epochs.results import Failure, to_failure
from funke.engine.runtime.slots.fork_server import open_fork_server
from funke.engine.runtime.slots.slot import Delivery, EpochHeader
from funke.engine.runtime.slots.slot_address import SlotAddress
from funke.engine.runtime.slots.worker_setup import JobDeployment, prepare_spark_worker
from funke.engine.runtime.snapshots.checkpoint_command import CheckpointNotifications
from funke.engine.runtime.spark.spark_input import spark_frames
from funke.engine.runtime.spark.spark_session import OnSpark, is_embedded
from funke.engine.runtime.spark.spark_tasks import await_task_slots, driver_address, jvm_pid, placed_rdd, ship_funke
from funke.engine.runtime.spark.task_failures import failure_in
from funke.engine.runtime.starting.executor_archive import provide_archive
from funke.engine.trust.credentials import Credentials

if TYPE_CHECKING:
    from pyspark import RDD, Broadcast
    from pyspark.sql import DataFrame

_DEPLOY_WAIT_S = 15.0
_EPOCH_END_S = 3.0


class EpochRunner:
    """One job attempt on Spark: its slots, and the epochs that run over them."""

    def __init__(
        self,
        spark: OnSpark,
        plan: Plan,
        deployment: JobDeployment,
        wanted_hosts: Mapping[int, str] | None = None,
        request_s: float = 300.0,
    ) -> None:
        self._spark = spark
        # How long the job waits for task slots of the cluster.
        self._request_s = request_s
        self._context = spark.sparkContext
        self._plan = plan
        if is_embedded(spark):
            deployment = replace(deployment, driver_host=open_fork_server(), executor_pid=jvm_pid(self._context))
        deployment = replace(deployment, driver_address=driver_address(spark))
        self._deployment: Broadcast[JobDeployment] = self._context.broadcast(deployment)
        self._is_restarted = deployment.attempt > 0
        self._credentials = deployment.credentials
        self._group = deployment.key
        self.addresses: dict[int, SlotAddress] = {}
        # By slot: where its state is near, and where it has been started.
        self._wanted_hosts = wanted_hosts or {}
        self.hosts: dict[int, str] = {}
        self._is_deployed = threading.Event()
        self._is_idle = threading.Event()
        self._is_idle.set()
        ship_funke(spark)

    def deploy(self) -> None:
        """Starts all slots, spread over the executors by Spark's scheduler."""
        try:
            self._start_slots()
        finally:
            self._is_deployed.set()

    def _start_slots(self) -> None:
        deployment = self._deployment

        def start(slots: Iterable[int]) -> Iterator[SlotAddress | Failure]:
            # A failure is a result: were it a failed task, the addresses of the started slots would be lost.
            for slot in slots:
                try:
                    yield start_slot(slot, deployment.value)
                except Exception as error:
                    yield to_failure(error)
            if deployment.value.driver_host is None:
                provide_archive(executor_pid(deployment.value))

        self._enter_group("deploy")
        if not is_embedded(self._spark):
            # So that slots spread over executors.
            await_task_slots(self._context, self._plan.slots, self._is_restarted, self._request_s)
        started = self._slot_numbers().mapPartitions(start).collect()
        self.addresses = {address.slot: address for address in started if isinstance(address, SlotAddress)}
        self.hosts = {address.slot: address.host for address in self.addresses.values()}
        failure = next((result for result in started if isinstance(result, Failure)), None)
        if failure is not None:
            raise start_error(failure)

    def _slot_numbers(self) -> RDD[int]:
        """One partition per slot, preferably on the host where the slot was before."""
        slots = range(self._plan.slots)
        if is_embedded(self._spark) or not self._wanted_hosts:
            return self._context.parallelize(slots, self._plan.slots)
        hosts = [[self._wanted_hosts[slot]] if slot in self._wanted_hosts else [] for slot in slots]
        return placed_rdd(self._context, slots, hosts)

    def run_epoch(
        self, header: EpochHeader, commands: Iterable[ReadCommand], frames_of: Mapping[int, DataFrame] | None = None
    ) -> list[Any]:
        """Runs one epoch; returns reports, messages and failures.

        `frames_of` holds, by vertex, the DataFrame whose rows its subtasks read.
        """
        self._enter_group(f"epoch {header.epoch}")
        self._is_idle.clear()
        try:
            blocks = self._read(header, list(commands), frames_of or {})
            for level in range(SOURCE_LEVEL + 1, self._plan.levels + 1):
                blocks = self._deliver(header, level, blocks)
            return [decode(frame.payload) for frame in map(_to_frame, blocks.collect())]
        except Exception as error:
            failure = failure_in(error)
            if failure is None:
                raise
            return [failure]
        finally:
            self._is_idle.set()

    def _read(self, header: EpochHeader, commands: list[ReadCommand], frames_of: Mapping[int, DataFrame]) -> RDD[Any]:
        """Level 0: sends all slots their commands, and the rows that Spark reads to their slots."""
        inputs: list[RDD[Any]] = []
        for vertex_id, frame in frames_of.items():
            own = [command for command in commands if command.vertex_id == vertex_id]
            rows = self._read_rows(header, own, frame.coalesce(len(own)))
            # Spark plans a DataFrame, and may run parts of it, each time that it is asked how many partitions it has.
            fed = own[: rows.getNumPartitions()]
            inputs.append(rows)
            commands = [command for command in commands if command not in fed]
        inputs.append(self._read_splits(header, commands))
        return inputs[0] if len(inputs) == 1 else self._context.union(inputs)

    def _read_splits(self, header: EpochHeader, commands: list[ReadCommand]) -> RDD[Any]:
        addresses, credentials = self.addresses, self._credentials
        deliveries = [
            (slot, encode(tuple(command for command in commands if self._slot_of(command) == slot)))
            for slot in range(self._plan.slots)
        ]

        def read(pairs: Iterable[tuple[int, bytes]]) -> Iterator[tuple[int, Any]]:
            prepare_spark_worker()
            for slot, encoded in pairs:
                delivery = Delivery(header, SOURCE_LEVEL, encoded)
                for frame in command_reading(addresses[slot], credentials, delivery):
                    yield frame.slot, frame[1:]

        if is_embedded(self._spark):
            return self._context.parallelize(deliveries, len(deliveries)).mapPartitions(read)
        return placed_rdd(self._context, deliveries, [[self.hosts[slot]] for slot, _ in deliveries]).mapPartitions(read)

    def _read_rows(self, header: EpochHeader, commands: list[ReadCommand], rows: DataFrame) -> RDD[Any]:
        credentials = self._credentials
        addresses = [self.addresses[self._slot_of(command)] for command in commands]
        deliveries = [
            Delivery(header, SOURCE_LEVEL, encode((replace(command, has_rows=True),)), command.vertex_id)
            for command in commands
        ]

        def read(partition: int, batches: Iterator[Any]) -> Iterator[Frame]:
            prepare_spark_worker()
            address = addresses[partition]
            frames = row_frames(address.slot, batches)
            yield from deliver(address, credentials, deliveries[partition], frozenset({ROWS}), frames)

        return spark_frames(rows, read)

    def access(self, slot: int) -> tuple[SlotAddress, Credentials]:
        """What a call to a slot needs; from any thread, and also when the slot's loop is stuck."""
        return self.addresses[slot], self._credentials

    def _slot_of(self, command: ReadCommand) -> int:
        return self._plan.placements[command.vertex_id].first_slot + command.subtask

    def _deliver(self, header: EpochHeader, level: int, frames: RDD[Any]) -> RDD[Any]:
        addresses, credentials = self.addresses, self._credentials
        consumed = consumed_at(self._plan, level)

        def delivery(slot: int, pairs: Iterable[Any]) -> Iterator[tuple[int, Any]]:
            prepare_spark_worker()
            arriving = map(_to_frame, pairs)
            for frame in deliver(addresses[slot], credentials, Delivery(header, level), consumed, arriving):
                yield frame.slot, frame[1:]

        return frames.partitionBy(self._plan.slots, _as_is).mapPartitionsWithIndex(delivery)

    def write(self, write: Callable[[], None]) -> list[Failure]:
        """Lets Spark write what it computes without slots; gives what its tasks say of a failure, if it is that."""
        self._enter_group("write")
        self._is_idle.clear()
        try:
            write()
        except Exception as error:
            failure = failure_in(error)
            if failure is None:
                raise
            return [failure]
        finally:
            self._is_idle.set()
        return []

    def send_notifications(self, notifications: CheckpointNotifications) -> list[Any]:
        """Between two epochs: tells all slots what became of checkpoints, and returns what they know of snapshots."""
        credentials, addresses = self._credentials, list(self.addresses.values())
        if is_embedded(self._spark) or not addresses:
            answers = [
                answer for address in addresses for answer in send_notifications(address, credentials, notifications)
            ]
        else:
            self._enter_group("checkpoint")
            deliveries = self._context.parallelize(addresses, len(addresses))
            answers = deliveries.flatMap(
                lambda address: send_notifications(address, credentials, notifications)
            ).collect()
        return [decode(answer) for answer in answers]

    def _enter_group(self, what: str) -> None:
        self._context.setJobGroup(self._group, f"funke {self._group}: {what}", interruptOnCancel=False)

    def cancel(self) -> None:
        """Stops the Spark job that is running now, if any, and ends the slots."""
        # Slots that are about to start would be lost from sight.
        self._is_deployed.wait(_DEPLOY_WAIT_S)
        self.close()
        # Without slots the epoch soon ends by itself; workers that Spark stops complain about their broken pipes.
        if not self._is_idle.wait(_EPOCH_END_S):
            self._context.cancelJobGroup(self._group)

    def close(self) -> None:
        """Ends all slots, those on other hosts too, and waits until they are gone."""
        credentials = self._credentials
        unreached = end_slots(list(self.addresses.values()), credentials)
        self.addresses = {}
        with contextlib.suppress(Exception):  # Spark may have ended
            if unreached and not is_embedded(self._spark):
                # On its own host a slot that does not answer is killed.
                rdd = placed_rdd(self._context, unreached, [[address.host] for address in unreached])
                rdd.foreachPartition(lambda addresses: _end_quietly(addresses, credentials))
        with contextlib.suppress(Exception):
            self._deployment.unpersist()


def _end_quietly(addresses: Iterable[SlotAddress], credentials: Credentials) -> None:
    end_slots(list(addresses), credentials)


def _as_is(slot: int) -> int:
    return slot


def _to_frame(pair: Any) -> Frame:
    return Frame(pair[0], *pair[1])
