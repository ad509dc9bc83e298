"""Commits what the sinks of a job have prepared: again while it fails, and again after a restart."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from funke.engine.connectors.sink import Committer, RetryCommitError
from funke.engine.errors import FunkeError, SinkError

__all__ = ["SinkCommits", "commit_until_done"]

# Flink's `sink.committer.retries`.
DEFAULT_RETRIES = 10
_FIRST_PAUSE_S = 0.1
_LONGEST_PAUSE_S = 1.0

Pause = Callable[[float], object]
Attempt = Callable[[list[Any]], None]


def commit_until_done(
    commit: Attempt, committables: list[Any], retries: int = DEFAULT_RETRIES, pause: Pause = time.sleep
) -> None:
    """Calls `commit` until it succeeds, with a longer pause after each failure; raises the last failure.

    An error that Funke itself found (a file is gone, data is lost) is not tried again: it would end the same way.
    """
    left, delay_s = list(committables), _FIRST_PAUSE_S
    for retry in range(retries + 1):
        try:
            commit(left)
            return
        except FunkeError:
            raise
        except RetryCommitError as later:
            left, failure = later.left, later
        except Exception as error:
            failure = error  # type: ignore[assignment]
        if retry == retries:
            raise failure
        pause(delay_s)
        delay_s = min(_LONGEST_PAUSE_S, delay_s * 2)


class SinkCommits:
    """The committers of a job's sinks, by operator id.

    `between` is called with an operator id after each sink's commit; `pause` waits between two attempts.
    """

    def __init__(
        self,
        committers: Mapping[str, Committer],
        retries: int = DEFAULT_RETRIES,
        pause: Pause = time.sleep,
        between: Callable[[str], None] = lambda operator_id: None,
    ) -> None:
        self._committers = committers
        self._retries = retries
        self._pause = pause
        self._between = between

    def commit(self, epoch: int, committables: Mapping[str, list[Any]]) -> None:
        """Commits what was prepared up to an epoch whose checkpoint is complete."""
        for operator_id, items in committables.items():
            self._run(operator_id, partial(self._committer(operator_id).commit_epoch, epoch), items)

    def recover(self, epoch: int, committables: Mapping[str, list[Any]]) -> None:
        """Commits what a checkpoint holds, before the attempt that is restored from it begins."""
        for operator_id, items in committables.items():
            self._run(operator_id, partial(self._committer(operator_id).recover, epoch), items)

    def _committer(self, operator_id: str) -> Committer:
        if operator_id not in self._committers:
            raise SinkError("there is output to commit, but the sink has no commit(); was it replaced by another sink?")
        return self._committers[operator_id]

    def _run(self, operator_id: str, attempt: Attempt, items: list[Any]) -> None:
        if items:
            commit_until_done(attempt, items, self._retries, self._pause)
            self._between(operator_id)
