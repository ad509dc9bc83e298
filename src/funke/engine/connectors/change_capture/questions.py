"""What the log does not say and the server is asked for."""

from __future__ import annotations

import contextlib
from typing import Any, Generic, TypeVar

from funke.engine.connectors.change_capture.settings import CaptureSettings

__all__ = ["ServerQuestions"]

S = TypeVar("S", bound=CaptureSettings)


class ServerQuestions(Generic[S]):
    """Holds a connection once something is asked."""

    def __init__(self, settings: S) -> None:
        self._settings = settings
        self._connection: Any = None

    def _connected(self) -> Any:
        if self._connection is None:
            self._connection = self._settings.connect()
        return self._connection

    def close(self) -> None:
        if self._connection is not None:
            with contextlib.suppress(self._settings.database.error):
                self._connection.close()
