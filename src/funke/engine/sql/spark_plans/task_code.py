"""Steps as the function that Spark's tasks run on Arrow batches."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import cloudpickle

from funke.engine.connectors.remote.access import StorageAccess, install_access, installed_access
from funke.engine.operators.operator import TaskInfo
from funke.engine.runtime.slots.worker_setup import prepare_spark_worker
from funke.engine.runtime.spark.task_failures import TaskFailure
from funke.engine.runtime.starting.warm_spark import folder_of_program
from funke.engine.sql.binding.relations import Column
from funke.engine.sql.spark_plans.carried_columns import carried_schema, from_carried, to_carried
from funke.engine.sql.spark_plans.task_steps import TaskStep, through
from funke.engine.sql.spark_plans.written_columns import to_written, written_schema
from funke.engine.types.columns.column_batch import ColumnBatch

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["PlanSettings", "TaskCode"]


@dataclass(frozen=True)
class PlanSettings:
    """The settings of a job that its tasks need."""

    parallelism: int = 1
    job_parameters: tuple[tuple[str, str], ...] = ()
    startup: tuple[str, ...] = ()


@dataclass(frozen=True)
class TaskCode:
    """Runs steps; they travel as bytes of their own, because Spark would pickle functions in another way."""

    code: bytes
    settings: PlanSettings
    python_paths: tuple[str, ...] = field(default_factory=lambda: tuple(path for path in sys.path if path))
    storage: StorageAccess = field(default_factory=installed_access)
    working_folder: str | None = field(default_factory=folder_of_program)

    @staticmethod
    def of(
        inputs: tuple[Column, ...] | None,
        steps: tuple[TaskStep, ...],
        outputs: tuple[Column, ...],
        settings: PlanSettings,
        is_written: bool = False,
    ) -> TaskCode:
        """The code of steps for rows that come as Spark carries them, or, without `inputs`, as Spark has read them."""
        return TaskCode(bytes(cloudpickle.dumps((inputs, steps, outputs, is_written))), settings)

    def __call__(self, batches: Iterator[Any]) -> Iterator[pa.RecordBatch]:
        prepare_spark_worker()
        try:
            yield from self._run(batches)
        # Spark has enough rows, for a LIMIT: that is no failure.
        except GeneratorExit:
            raise
        except BaseException as error:
            # Said where it is shown: the rest of Spark's message would be of its own stack.
            raise TaskFailure(error, "Spark task") from None

    def _run(self, batches: Iterator[Any]) -> Iterator[pa.RecordBatch]:
        self._prepare()
        inputs, steps, outputs, is_written = cloudpickle.loads(self.code)
        schema = (written_schema if is_written else carried_schema)(outputs)
        task = TaskInfo(
            task_name="Spark task",
            parallelism=self.settings.parallelism,
            is_batch=True,
            job_parameters=dict(self.settings.job_parameters),
        )
        table_batches = batches if inputs is None else (from_carried(batch, inputs) for batch in batches)
        rows = (ColumnBatch(batch) for batch in table_batches if batch.num_rows)
        for output in through(steps, rows, task):
            yield to_written(output.data, schema) if is_written else to_carried(output.data, outputs, schema)

    def _prepare(self) -> None:
        """Prepares a task like a slot: the program's modules can be imported, and its file systems reached."""
        install_access(self.storage)
        if self.working_folder is not None:
            os.chdir(self.working_folder)
        sys.path += [path for path in self.python_paths if path not in sys.path and os.path.exists(path)]
        for hook in self.settings.startup:
            module, _, function = hook.partition(":")
            getattr(importlib.import_module(module), function)()
