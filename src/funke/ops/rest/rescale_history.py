"""Which jobs went on with another parallelism, when, and how that ended: one small file for each time."""

from __future__ import annotations

import contextlib
import logging
import os
import re
import secrets
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from funke.engine.jobs.views.job_view import JobView
from funke.engine.trust.private_files import open_private_folder
from funke.engine.types.json_form import from_json, to_json
from funke.ops.service.service_folder import read_json, write_json

__all__ = ["Rescale", "RescaleHistory", "RescalePhase"]

_LOG = logging.getLogger(__name__)
_NAME = re.compile(r"[0-9a-f]{32}\.json")
# Flink's names of the states that a scheduler is in meanwhile.
STOPPING, STARTING = "StopWithSavepoint", "CreatingExecutionGraph"


@dataclass(frozen=True)
class ScaledVertex:
    """A vertex as it was before."""

    id: str
    name: str
    slot_sharing_group: str
    parallelism: int


@dataclass(frozen=True)
class RescalePhase:
    """What was done, from when to when."""

    state: str
    since_ms: int
    until_ms: int | None = None
    failure: str | None = None


@dataclass(frozen=True)
class Rescale:
    """One job that was ended with a savepoint, and the one that has gone on from there."""

    rescale_id: str
    job_id: str
    parallelism: int
    vertices: tuple[ScaledVertex, ...]
    phases: tuple[RescalePhase, ...]
    successor: str | None = None

    @property
    def ended_ms(self) -> int | None:
        """When it was over, one way or the other."""
        return self.phases[-1].until_ms

    @property
    def has_failed(self) -> bool:
        """Whether no job goes on with that parallelism; one with the parallelism before may."""
        return self.ended_ms is not None and (self.successor is None or self.phases[-1].failure is not None)


class RescaleHistory:
    """What is remembered of the jobs of a service."""

    def __init__(self, folder: str, kept: int) -> None:
        self._folder = folder
        # Of one job and those that it was before; none when it is 0.
        self.kept = kept
        for each in self._all():
            if each.ended_ms is None:
                self._put(_ended(each, failure="the service ended meanwhile"))

    @contextmanager
    def recording(self, job: JobView, parallelism: int) -> Iterator[RecordedRescale]:
        """Notes what a block of code does with a job."""
        vertices = tuple(
            ScaledVertex(each.operators[0].id, each.name, each.slot_sharing_group, each.parallelism)
            for each in job.vertices
        )
        begun = Rescale(secrets.token_hex(16), job.job_id, parallelism, vertices, (RescalePhase(STOPPING, _now()),))
        record = RecordedRescale(self, begun)
        self._put(begun)
        try:
            yield record
        except BaseException as error:
            self._put(_ended(record.rescale, failure=str(error) or type(error).__name__))
            raise
        self._put(_ended(record.rescale))

    def of(self, job_id: str) -> list[Rescale]:
        """Of a job, of those that it was before and those that it has become: the newest first."""
        rescales, job_ids = self._all(), {job_id}
        while True:
            further = {name for each in rescales if job_ids & _jobs(each) for name in _jobs(each)}
            if further <= job_ids:
                return [each for each in rescales if _jobs(each) & job_ids]
            job_ids |= further

    def forget(self, job_ids: Collection[str]) -> None:
        """Forgets what tells of none of the jobs that are still known."""
        for each in self._all():
            if not _jobs(each) & set(job_ids):
                self._remove(each)

    def _all(self) -> list[Rescale]:
        names = os.listdir(self._folder) if os.path.isdir(self._folder) else []
        rescales = []
        for name in filter(_NAME.fullmatch, names):
            with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
                rescales.append(from_json(Rescale, read_json(os.path.join(self._folder, name))))
        return sorted(rescales, key=lambda each: each.phases[0].since_ms, reverse=True)

    def _put(self, rescale: Rescale) -> None:
        if self.kept <= 0:
            return
        try:
            open_private_folder(self._folder)
            write_json(self._path(rescale), to_json(rescale))
        except OSError as error:  # a disk that is full does not keep a job from its new parallelism
            _LOG.error("the outcome of rescaling job %s cannot be recorded: %s", rescale.job_id, error)
        for oldest in self.of(rescale.job_id)[self.kept :]:
            self._remove(oldest)

    def _remove(self, rescale: Rescale) -> None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._path(rescale))

    def _path(self, rescale: Rescale) -> str:
        return os.path.join(self._folder, f"{rescale.rescale_id}.json")


@dataclass
class RecordedRescale:
    """One that is under way."""

    _history: RescaleHistory
    rescale: Rescale

    def has_stopped(self) -> None:
        """The job has ended with its savepoint; the next one is started."""
        phases = (*_ended(self.rescale).phases, RescalePhase(STARTING, _now()))
        self.rescale = replace(self.rescale, phases=phases)
        self._history._put(self.rescale)

    def goes_on_as(self, job_id: str) -> None:
        """There is a job that goes on."""
        self.rescale = replace(self.rescale, successor=job_id)


def _now() -> int:
    return int(time.time() * 1000)


def _jobs(rescale: Rescale) -> set[str]:
    return {rescale.job_id, *((rescale.successor,) if rescale.successor is not None else ())}


def _ended(rescale: Rescale, failure: str | None = None) -> Rescale:
    last = replace(rescale.phases[-1], until_ms=_now(), failure=failure)
    return replace(rescale, phases=(*rescale.phases[:-1], last))
