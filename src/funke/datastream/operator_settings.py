"""The settings that a stream's operator and a sink share: name, uid, parallelism, chaining, slots.

Streams that are not operators reject them: there is nothing to name or to set.
"""

from __future__ import annotations

import re
from typing import NoReturn, TypeVar

from funke.datastream.slot_sharing_group import SlotSharingGroup, name_in_use
from funke.engine.errors import ConfigurationError, GraphError, at_user_line
from funke.engine.graph.stream_graph import ChainingStrategy, StreamNode

__all__ = [
    "DataStreamSink",
    "OperatorSettings",
    "RejectedSettings",
    "require_max_parallelism",
    "require_parallelism",
]

_T = TypeVar("_T", bound="OperatorSettings")

_UID_HASH = re.compile(r"[0-9a-fA-F]{32}")
_LARGEST_MAX_PARALLELISM = 1 << 15
_DEFAULT_PARALLELISM = -1


class OperatorSettings:
    """Setters of one node of the graph; each returns the object it was called on."""

    _node: StreamNode | None

    def _settable(self, setting: str) -> StreamNode:
        """The node, unless the stream has none of its own (after rebalance(), union() and the like)."""
        if self._node is None:
            raise GraphError(
                at_user_line(f"{setting} needs an operator such as map() or process() before it, not a bare stream")
            )
        return self._node

    def name(self: _T, name: str) -> _T:
        """Set the name that plans, metrics and error messages show."""
        self._settable("name()").name = _text(name, "name()")
        return self

    def uid(self: _T, uid: str) -> _T:
        """Set the id under which snapshots keep the operator's state; it must be unique in the job."""
        self._settable("uid()").uid = uid
        return self

    def set_uid_hash(self: _T, uid_hash: str) -> _T:
        """Set the operator's id itself, 32 hexadecimal digits, as an earlier job may have logged it."""
        if not _UID_HASH.fullmatch(uid_hash):
            raise ConfigurationError(at_user_line(f"a uid hash has 32 hexadecimal digits, got {uid_hash!r}"))
        self._settable("set_uid_hash()").uid_hash = uid_hash.lower()
        return self

    def set_parallelism(self: _T, parallelism: int) -> _T:
        """Set the number of subtasks; -1 takes the job's."""
        node = self._settable("set_parallelism()")
        if node.is_parallelism_fixed and parallelism != 1:
            raise ConfigurationError(
                at_user_line(f"'{node.title}' cannot run in parallel: its parallelism must be 1, got {parallelism}")
            )
        require_parallelism(parallelism, f"the parallelism of '{node.title}'")
        node.parallelism = None if parallelism == _DEFAULT_PARALLELISM else parallelism
        return self

    def set_description(self: _T, description: str) -> _T:
        """Set the text that the execution plan shows for the operator."""
        self._settable("set_description()").description = _text(description, "set_description()")
        return self

    def disable_chaining(self: _T) -> _T:
        """Let the operator run in a task of its own."""
        self._settable("disable_chaining()").chaining = ChainingStrategy.NEVER
        return self

    def slot_sharing_group(self: _T, slot_sharing_group: str | SlotSharingGroup) -> _T:
        """Put the operator into a slot sharing group; operators behind it follow unless they say otherwise."""
        group = slot_sharing_group
        name = name_in_use(group) if isinstance(group, SlotSharingGroup) else _text(group, "slot_sharing_group()")
        self._settable("slot_sharing_group()").slot_sharing_group = name
        return self


def _text(value: str, setting: str) -> str:
    if not isinstance(value, str):
        raise TypeError(at_user_line(f"{setting} needs a str, got {value!r}"))
    return value


def require_parallelism(parallelism: int, what: str) -> None:
    """Reject a parallelism that no operator can have."""
    if isinstance(parallelism, bool) or not isinstance(parallelism, int):
        raise ConfigurationError(at_user_line(f"{what} must be an integer, got {parallelism!r}"))
    if parallelism < 1 and parallelism != _DEFAULT_PARALLELISM:
        raise ConfigurationError(at_user_line(f"{what} must be at least 1, or -1 for the default, got {parallelism}"))


def require_max_parallelism(max_parallelism: int, what: str) -> None:
    """Reject a number of key groups outside Flink's bounds."""
    if not 0 < max_parallelism <= _LARGEST_MAX_PARALLELISM:
        raise ConfigurationError(
            at_user_line(f"{what} must lie between 1 and {_LARGEST_MAX_PARALLELISM}, got {max_parallelism}")
        )


class DataStreamSink(OperatorSettings):
    """A sink in the graph, with its settings.

    >>> from funke.datastream import StreamExecutionEnvironment
    >>> words = StreamExecutionEnvironment.get_execution_environment().from_collection(["to", "be"])
    >>> sink = words.print().name("words").uid("print-words").set_parallelism(1)
    >>> type(sink).__name__
    'DataStreamSink'
    """

    def __init__(self, node: StreamNode) -> None:
        self._node = node


class RejectedSettings:
    """Rejects the settings of an operator; they belong to the stream before or after this one."""

    def _reject(self, method: str) -> NoReturn:
        raise GraphError(
            at_user_line(
                f"{method} is not possible on a {type(self).__name__}; call it on the stream before or after it"
            )
        )

    def set_parallelism(self, parallelism: int) -> NoReturn:
        """Not possible here."""
        self._reject("set_parallelism()")

    def name(self, name: str) -> NoReturn:
        """Not possible here."""
        self._reject("name()")

    def get_name(self) -> NoReturn:
        """Not possible here."""
        self._reject("get_name()")

    def uid(self, uid: str) -> NoReturn:
        """Not possible here."""
        self._reject("uid()")

    def set_uid_hash(self, uid_hash: str) -> NoReturn:
        """Not possible here."""
        self._reject("set_uid_hash()")

    def set_max_parallelism(self, max_parallelism: int) -> NoReturn:
        """Not possible here."""
        self._reject("set_max_parallelism()")

    def force_non_parallel(self) -> NoReturn:
        """Not possible here."""
        self._reject("force_non_parallel()")

    def set_buffer_timeout(self, timeout_millis: int) -> NoReturn:
        """Not possible here."""
        self._reject("set_buffer_timeout()")

    def start_new_chain(self) -> NoReturn:
        """Not possible here."""
        self._reject("start_new_chain()")

    def disable_chaining(self) -> NoReturn:
        """Not possible here."""
        self._reject("disable_chaining()")

    def slot_sharing_group(self, slot_sharing_group: str | SlotSharingGroup) -> NoReturn:
        """Not possible here."""
        self._reject("slot_sharing_group()")
