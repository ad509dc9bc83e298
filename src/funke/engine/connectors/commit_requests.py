"""Committers that users write: each committable comes as a request, which can be answered in more than one way."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from funke.engine.connectors.sink import Committer, RetryCommitError
from funke.engine.errors import SinkError

__all__ = ["CommitRequest", "RequestCommitter", "UserCommitter"]


class CommitRequest:
    """One committable on its way to be committed; a committer that says nothing about it has committed it.

    >>> from funke.datastream.connectors.python import CommitRequest
    >>> request = CommitRequest("file-7")  # a PythonCommitter gets a list of them
    >>> request.get_committable(), request.get_number_of_retries()
    ('file-7', 0)
    >>> request.retry_later()
    >>> request.is_left
    True
    """

    def __init__(self, committable: Any, retries: int = 0) -> None:
        self._committable = committable
        self._retries = retries
        self._is_left = False

    def get_committable(self) -> Any:
        """Return what is to be committed."""
        return self._committable

    def get_number_of_retries(self) -> int:
        """Return how often it was tried before."""
        return self._retries

    def retry_later(self) -> None:
        """Ask for another try; the job fails when there were too many."""
        self._is_left = True

    def update_and_retry_later(self, committable: Any) -> None:
        """Ask for another try with a changed committable, for instance what is left of it."""
        self._committable = committable
        self._is_left = True

    def signal_already_committed(self) -> None:
        """Say that it was committed before, which is expected after a restart."""
        self._is_left = False

    def signal_failed_with_known_reason(self, reason: BaseException) -> None:
        """Give it up: its data is lost on purpose, and the job goes on."""
        self._is_left = False
        sys.stderr.write(f"a committable was given up: {type(reason).__name__}: {reason}\n")

    def signal_failed_with_unknown_reason(self, reason: BaseException) -> None:
        """Fail the job; it restarts, if the restart strategy says so, and commits again."""
        raise SinkError(f"a committable could not be committed: {type(reason).__name__}: {reason}") from reason

    @property
    def is_left(self) -> bool:
        """Whether it is to be tried again."""
        return self._is_left

    def again(self) -> CommitRequest:
        """The request for the next try."""
        return CommitRequest(self._committable, self._retries + 1)


class UserCommitter(ABC):
    """Commits in the driver what writers have prepared.

    The same committable may come again, after an exception or after a restart, even though it was committed: `commit`
    must find that out, or do no harm.

    >>> from funke.datastream.connectors.python import CommitRequest, PythonCommitter
    >>> class Publish(PythonCommitter):
    ...     def commit(self, requests):
    ...         for request in requests:
    ...             print("publish", request.get_committable())
    >>> Publish().commit([CommitRequest("file-7")])  # the job does this when a checkpoint is complete
    publish file-7
    """

    @abstractmethod
    def commit(self, requests: list[CommitRequest]) -> None:
        """Commit; an exception means that all requests are tried again."""

    def close(self) -> None:
        """Release what the committer holds; called after every commit."""


class RequestCommitter(Committer):
    """Lets the engine use a user's committer; `create` makes it, and it is closed after each use."""

    def __init__(self, create: Callable[[], UserCommitter]) -> None:
        self._create = create

    def commit(self, committables: list[Any]) -> None:
        """Hands the committables over as requests, and asks for another try for those that want one."""
        requests = [item if isinstance(item, CommitRequest) else CommitRequest(item) for item in committables]
        committer = self._create()
        try:
            committer.commit(requests)
        finally:
            committer.close()
        left = [request.again() for request in requests if request.is_left]
        if left:
            raise RetryCommitError(f"{len(left)} of {len(requests)} committables are to be tried again", left)
