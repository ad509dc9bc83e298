"""Names of part files: finished, and while they are being written."""

from __future__ import annotations

import re
import uuid
from dataclasses import dataclass

from funke.engine.errors import ConfigurationError

__all__ = ["OutputFileConfig", "part_number", "to_compacted_name", "to_in_progress_name"]

_IN_PROGRESS = re.compile(r"\.(?P<final>.+)\.inprogress\.[0-9a-f-]{36}")


@dataclass(frozen=True)
class OutputFileConfig:
    """What stands in front of and behind the unique part of a file's name."""

    prefix: str = "part"
    suffix: str = ""

    def __post_init__(self) -> None:
        """Rejects None, which would appear in file names as a word."""
        if not isinstance(self.prefix, str) or not isinstance(self.suffix, str):
            raise ConfigurationError(
                f"prefix and suffix of part files must be text, got {self.prefix!r}, {self.suffix!r}"
            )

    def part_name(self, writer_id: str, counter: int) -> str:
        """The name of a finished file.

        >>> OutputFileConfig("out", ".csv").part_name("81fc4980-a6af-41c8-9937-9939408a734b", 17)
        'out-81fc4980-a6af-41c8-9937-9939408a734b-17.csv'
        """
        return f"{self.prefix}-{writer_id}-{counter}{self.suffix}"


def to_in_progress_name(final_name: str) -> str:
    """The hidden name under which a file is written; new for every call, so that two attempts never share one."""
    return f".{final_name}.inprogress.{uuid.uuid4()}"


def to_compacted_name(first_name: str) -> str:
    """The name of a file that stands for several, by the name that the first of them would have."""
    return f"compacted-{first_name}"


def part_number(config: OutputFileConfig, writer_id: str, file_name: str) -> int | None:
    """The counter in an in-progress name of the given writer, None for any other name."""
    matched = _IN_PROGRESS.fullmatch(file_name)
    if matched is None:
        return None
    start, end = f"{config.prefix}-{writer_id}-", config.suffix
    final = matched["final"]
    if not (final.startswith(start) and final.endswith(end)):
        return None
    digits = final[len(start) : len(final) - len(end)]
    return int(digits) if digits.isdecimal() else None
