"""What a job is submitted with, apart from its graph."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    # Workers load this module and never see a record.
    from funke.engine.jobs.records.job_record import OwnedRecord


@dataclass(frozen=True)
class JobSettings:
    """The environment's settings at the moment of submission."""

    job_name: str = "Flink Streaming Job"
    configuration: dict[str, str] = field(default_factory=dict)
    job_parameters: dict[str, str] = field(default_factory=dict)
    auto_watermark_interval_ms: int = 200
    buffer_timeout_ms: int = 100
    is_batch: bool = False
    python_files: tuple[str, ...] = ()
    python_archives: tuple[tuple[str, str | None], ...] = ()
    python_requirements: tuple[str, str | None] | None = None
    python_executable: str | None = None
    jars: tuple[str, ...] = ()
    # Name -> (path, whether it is a program).
    cached_files: dict[str, tuple[str, bool]] = field(default_factory=dict)
    # Hooks "module:function" that every worker runs before it unpickles user code.
    startup: tuple[str, ...] = ()
    # Where the job is written down, if it is to outlive its driver.
    record: OwnedRecord | None = None
