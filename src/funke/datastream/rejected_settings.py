"""Streams that are not operators, so that there is nothing to name or to set."""

from __future__ import annotations

from typing import NoReturn

from funke.datastream.slot_sharing_group import SlotSharingGroup
from funke.engine.errors import GraphError, at_user_line


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
