"""An application as spark-submit ships it: what runs in its first container."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from funke.engine.runtime.job_files.shared_paths import SharedPath
from funke.engine.types.json_form import from_json, to_json

__all__ = ["FILE", "Application"]

# In the working folder of the container, where YARN has put it.
FILE = "funke-application.json"


@dataclass(frozen=True)
class Application:
    """A program with its options; paths are those of the container's folder."""

    run_id: str
    file: str | None
    module: str | None
    arguments: tuple[str, ...] = ()
    options: dict[str, str] = field(default_factory=dict)
    # The folder of job records, with a probe, if further attempts are to continue the jobs.
    home: SharedPath | None = None

    def to_text(self) -> str:
        """The content of its file."""
        return json.dumps(to_json(self))

    @staticmethod
    def from_text(text: str) -> Application:
        """The application of a file."""
        return from_json(Application, json.loads(text))
