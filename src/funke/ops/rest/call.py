"""A request as handlers see it, what they may reject, and how a route is described."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from funke.ops.rest.cluster_state import Cluster
from funke.ops.rest.job_directory import KnownJob

__all__ = ["Answer", "Call", "Handler", "Parameter", "RestError", "Route"]


class RestError(Exception):
    """A request that cannot be fulfilled; becomes `{"errors": [...]}`."""

    def __init__(self, status: int, *messages: str) -> None:
        super().__init__(messages[0])
        self.status = status
        self.messages = messages


@dataclass(frozen=True)
class Answer:
    """What is sent back: JSON, or a text or file of another kind."""

    content: Any
    status: int = 200
    media_type: str = "application/json"


@dataclass(frozen=True)
class Call:
    """A request that was let through."""

    cluster: Cluster
    path: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    # A JSON object; of an upload, the bytes and their content type.
    body: Mapping[str, Any] = field(default_factory=dict)
    raw: bytes = b""
    content_type: str = ""
    # With which the path began: /v1, or nothing.
    version: str = ""

    @property
    def job(self) -> KnownJob:
        """The job that the path names."""
        job_id = self.path["jobid"]
        known_job = self.cluster.jobs.find(job_id)
        if known_job is None:
            raise RestError(404, f"Job {job_id} not found")
        return known_job

    def query_list(self, name: str) -> list[str]:
        """The values of a parameter, with commas between."""
        return [part for part in self.query.get(name, "").split(",") if part]

    def query_integer(self, name: str, default: int, least: int = 0) -> int:
        """A number among the parameters."""
        text = self.query.get(name)
        return default if text is None else parse_integer(text, name, least)

    def path_integer(self, name: str) -> int:
        """A number in the path."""
        return parse_integer(self.path[name], name, 0)

    def body_text(self, name: str) -> str | None:
        """A text of the body; None when it is not there."""
        value = self.body.get(name)
        if value is not None and not isinstance(value, str):
            raise RestError(400, f"'{name}' must be a text, got {type(value).__name__}")
        return value

    def body_boolean(self, name: str, default: bool = False) -> bool:
        """True or false in the body."""
        value = self.body.get(name)
        if value is not None and not isinstance(value, bool):
            raise RestError(400, f"'{name}' must be true or false, got {type(value).__name__}")
        return default if value is None else value


def parse_integer(text: str, name: str, least: int) -> int:
    """A number of a request."""
    if not (text.isascii() and text.isdecimal() and len(text) < 19 and int(text) >= least):
        raise RestError(400, f"'{name}' must be a whole number of at least {least}, got '{text[:100]}'")
    return int(text)


Handler = Callable[[Call], "Answer | Any"]


@dataclass(frozen=True)
class Parameter:
    """A parameter of a query."""

    name: str
    description: str
    # See `shapes`.
    kind: Any = str
    is_required: bool = False


@dataclass(frozen=True)
class Route:
    """A path with one of its methods; names of parts of the path stand in braces."""

    method: str
    path: str
    handler: Handler
    summary: str
    # What an answer holds, and what a request may; see `shapes`.
    answer: Any = None
    body: Any = None
    query: tuple[Parameter, ...] = ()
    status: int = 200
    # Its body is a file, which may be long.
    is_upload: bool = False
    media_type: str = "application/json"
    # What the path may begin with.
    versions: tuple[str, ...] = ("", "/v1")

    @property
    def full_path(self) -> str:
        """The path with its newest version."""
        return self.versions[0] + self.path
