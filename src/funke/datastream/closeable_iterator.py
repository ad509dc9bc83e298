"""The results of a job, one by one, while it runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from types import TracebackType
from typing import TYPE_CHECKING, Any

from funke.datastream.interrupts import cancel_interrupted, watch_cell
from funke.engine.types.information.collected_form import collector
from funke.engine.types.information.type_information import TypeInformation

if TYPE_CHECKING:
    from funke.engine.jobs.job import SubmittedJob

__all__ = ["CloseableIterator"]


class CloseableIterator:
    """Iterates over collected elements; closing it, or leaving its `with` block, cancels a job that still runs."""

    def __init__(self, job: SubmittedJob, name: str, type_info: TypeInformation | None = None) -> None:
        self._job = job
        self._elements = _converted(chain.from_iterable(job.collected(name)), type_info)
        self._is_closed = False
        watch_cell(job)

    def __iter__(self) -> CloseableIterator:
        return self

    def __next__(self) -> Any:
        return self.next()

    def __enter__(self) -> CloseableIterator:
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> None:
        self.close()

    def next(self) -> Any:
        """Return the next element; waits for it, and raises StopIteration after the last one."""
        if self._is_closed:
            raise StopIteration("the iterator is closed")
        try:
            return next(self._elements)
        except KeyboardInterrupt as interrupt:
            self._is_closed = True
            cancel_interrupted(self._job, interrupt)
            raise

    def close(self) -> None:
        """Stop collecting and cancel the job if it still runs."""
        if not self._is_closed:
            self._is_closed = True
            self._job.cancel().result()


def _converted(elements: Iterable[Any], type_info: TypeInformation | None) -> Iterator[Any]:
    convert = collector(type_info)
    return iter(elements) if convert is None else map(convert, elements)
