"""A checkpoint whose barriers overtake: what is on its way in a slot becomes part of it.

See docs/decisions/0014-barriers-may-overtake.md.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any

from funke.engine.operators.block_parts import Part, StatusPart, WatermarkPart
from funke.engine.operators.input_gate import InputGate
from funke.engine.operators.operator import MIN_WATERMARK
from funke.engine.runtime.blocks.block_codec import encode_block
from funke.engine.runtime.pipelined.channels import InChannel, OutChannel, RemoteOut
from funke.engine.runtime.pipelined.messages import TakeCheckpoint
from funke.engine.runtime.pipelined.task import Task

__all__ = ["Overtaking", "put_back"]

_ARRIVED, _LEAVING = "arrived", "leaving"


class Overtaking:
    """The barrier of a slot has left before all that waits there; now those of the other slots are waited for.

    Nothing is processed meanwhile: what had come before the barrier of its sender still stands in the queues then.
    """

    def __init__(self, taking: TakeCheckpoint, peers: Iterable[int], outputs: Mapping[int, OutChannel]) -> None:
        self.taking = taking
        self.began = time.perf_counter()
        self._missing = set(peers)
        # Noted now: they leave behind the barrier, as soon as their receivers have room.
        waiting = ((number, out.waiting_blocks()) for number, out in outputs.items() if isinstance(out, RemoteOut))
        self._leaving = {number: blocks for number, blocks in waiting if blocks}
        self._before: dict[int, int] = {}

    @property
    def number(self) -> int:
        """That of the checkpoint."""
        return self.taking.command.checkpoint_id

    @property
    def is_complete(self) -> bool:
        """Whether the barriers of all slots have come."""
        return not self._missing

    def hear(self, peer: int, channels: Iterable[InChannel]) -> None:
        """The barrier of a slot has come: what comes over its channels from now on is behind the checkpoint."""
        self._missing.discard(peer)
        self._before.update((channel.number, channel.buffers) for channel in channels)

    def in_flight(self, inputs: Iterable[tuple[Task, InChannel]]) -> tuple[dict[str, Any], int]:
        """What is on its way, by channel, and how many bytes that is; the progress of event time is not counted."""
        arrived, size = {}, sum(len(block) for blocks in self._leaving.values() for block in blocks)
        for task, channel in inputs:
            # Those of the same slot have no barriers, nor anything that is behind one.
            blocks = list(channel.waiting_blocks(self._before.get(channel.number)))
            size += sum(map(len, blocks))
            marks = _marks(task.subtask.gate, channel)
            arrived[channel.number] = ([encode_block(marks)] if marks else []) + blocks
        return {_ARRIVED: arrived, _LEAVING: self._leaving}, size


def _marks(gate: InputGate, channel: InChannel) -> list[Part]:
    """How far event time has come on a channel: what is on its way is to be as late, or as early, as it was."""
    watermarks, idle = gate.snapshot()
    key = channel.exchange_id, channel.upstream
    marks: list[Part] = [WatermarkPart(watermarks[key])] if watermarks[key] > MIN_WATERMARK else []
    return [*marks, StatusPart(True)] if key in idle else marks


def put_back(
    content: dict[str, Any], inputs: Mapping[int, tuple[Task, InChannel]], outputs: Mapping[int, OutChannel]
) -> None:
    """Gives channels what a checkpoint has overtaken there."""
    for number, blocks in content[_ARRIVED].items():
        inputs[number][1].restore(blocks)
    for number, blocks in content[_LEAVING].items():
        out = outputs[number]
        assert isinstance(out, RemoteOut)
        out.restore(blocks)
