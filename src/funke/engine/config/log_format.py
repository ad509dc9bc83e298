"""How log lines are written: as text for people, or as JSON lines for collectors."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime
from typing import Any

__all__ = ["LogFormat", "log_formatter"]

_TEXT = "%(asctime)s %(levelname)-5s %(name)s - %(message)s"


class LogFormat(logging.Formatter):
    """One JSON object for each line; `operator` and `subtask` where an operator logged it."""

    def format(self, record: logging.LogRecord) -> str:
        """A record as one line."""
        content: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            **{name: record.__dict__[name] for name in ("operator", "subtask") if name in record.__dict__},
            "message": record.getMessage(),
        }
        if record.exc_info:
            content["exception"] = self.formatException(record.exc_info)
        return json.dumps(content, ensure_ascii=False)


def log_formatter(kind: str) -> logging.Formatter:
    """The formatter of `funke.log.format`."""
    return LogFormat() if kind == "json" else logging.Formatter(_TEXT)
