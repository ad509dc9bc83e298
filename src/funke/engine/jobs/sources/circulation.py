"""What goes round in the iterations of a job that streams: what of it belongs to a checkpoint, and whether it rests."""

from __future__ import annotations

from collections.abc import Iterable

from funke.engine.connectors.feedback import FeedbackEnumerator
from funke.engine.jobs.sources.source_coordinator import SourceCoordinator, SourceState
from funke.engine.runtime.blocks.block_codec import encode
from funke.engine.types.driver_messages import FeedbackRecords

__all__ = ["Circulation"]


class Circulation:
    """Takes what slots send back to the heads of iterations.

    What a slot sent back before its state was captured belongs to the checkpoint. What it sends later comes of records
    behind the barrier: a job that starts from the checkpoint reads and sends them again.
    """

    def __init__(self, coordinators: Iterable[SourceCoordinator], slots: Iterable[int]) -> None:
        self._coordinators: dict[str, SourceCoordinator] = {}
        self._enumerators: dict[str, FeedbackEnumerator] = {}
        for coordinator in coordinators:
            if isinstance(coordinator.enumerator, FeedbackEnumerator):
                self._coordinators[coordinator.enumerator.feedback_id] = coordinator
                self._enumerators[coordinator.enumerator.feedback_id] = coordinator.enumerator
        self._slots = frozenset(slots)
        # While a checkpoint is taken: the slots whose state is captured, and the heads as they stand in it, once all
        # sources have cut.
        self._captured: set[int] = set()
        self._written: dict[str, SourceState] | None = None
        # What came from captured slots before that.
        self._aside: list[FeedbackRecords] = []
        # The slots that the probe has not come through, and whether nothing has come back since it was sent.
        self._probed: set[int] = set()
        self._is_quiet = False

    def take(self, slot: int, records: FeedbackRecords) -> None:
        """A slot sends records back."""
        self._is_quiet = False
        is_behind = slot in self._captured
        if is_behind and self._written is None:
            self._aside.append(records)
            return
        if not is_behind and self._written is not None:
            self._written[records.feedback_id].position.append((records.values, records.timestamps))
        self._offer(records)

    def _offer(self, records: FeedbackRecords) -> None:
        self._enumerators[records.feedback_id].offer((records.values, records.timestamps))

    # Checkpoints

    def capture(self, slot: int) -> None:
        """The state of a slot is captured."""
        self._captured.add(slot)

    def write_down(self) -> None:
        """All sources have cut: so do the heads, but for what is still to come of slots that are not captured."""
        self._written = {feedback_id: coordinator.snapshot() for feedback_id, coordinator in self._coordinators.items()}
        self._release()

    @property
    def is_written(self) -> bool:
        """Whether everything is known that belongs to the checkpoint."""
        return self._written is not None and (not self._coordinators or self._captured == self._slots)

    def snapshot(self) -> dict[str, bytes]:
        """Where the heads stand in the checkpoint, by operator id."""
        written = self._written or {}
        return {self._coordinators[feedback_id].operator_id: encode(state) for feedback_id, state in written.items()}

    def end_cut(self) -> None:
        """The checkpoint has what it needs, or was given up."""
        self._captured.clear()
        self._written = None
        self._release()

    def _release(self) -> None:
        aside, self._aside = self._aside, []
        for records in aside:
            self._offer(records)

    # The end

    def begin_probe(self) -> bool:
        """Whether slots are to be asked if anything is still on its way: nothing waits here, and none is asked yet."""
        is_over = all(enumerator.is_finished for enumerator in self._enumerators.values())
        is_waiting = bool(self._aside) or any(enumerator.has_waiting for enumerator in self._enumerators.values())
        if (
            is_over
            or is_waiting
            or self._probed
            or any(coordinator.has_unfinished for coordinator in self._coordinators.values())
        ):
            return False
        self._probed, self._is_quiet = set(self._slots), True
        return True

    def end_probe(self, slot: int) -> None:
        """Whatever was before the probe in a slot is done; if nothing has come back from any, nothing ever will."""
        self._probed.discard(slot)
        if not self._probed and self._is_quiet:
            for enumerator in self._enumerators.values():
                enumerator.end_round(is_input_over=True)
