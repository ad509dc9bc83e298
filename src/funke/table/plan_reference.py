"""Where a stored plan lies: in a file, a text or bytes."""

from __future__ import annotations

from pathlib import Path

from funke.engine.errors import UnsupportedFeatureError
from funke.engine.sql.statements.plans.stored_plans import StoredPlan

__all__ = ["PlanReference", "FilePlanReference", "JsonContentPlanReference", "BytesContentPlanReference", "Path"]


class PlanReference:
    """A stored plan, for `TableEnvironment.load_plan`.

    >>> from funke.table import PlanReference
    >>> reference: PlanReference = PlanReference.from_file("/tmp/plan.json")  # for TableEnvironment.load_plan()
    >>> str(reference.get_file())
    '/tmp/plan.json'
    """

    def __init__(self, content: Path | str | bytes) -> None:
        self._content = content

    def _plan(self) -> StoredPlan:
        if isinstance(self._content, Path):
            return StoredPlan.read(self._content)
        if isinstance(self._content, bytes):
            raise UnsupportedFeatureError("a plan in Smile", "a plan is a JSON string: PlanReference.from_json_string")
        return StoredPlan.from_json(self._content)

    def __str__(self) -> str:
        return f"{type(self).__name__}({self._content!r})"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and isinstance(other, PlanReference) and self._content == other._content

    def __hash__(self) -> int:
        return hash(self._content)

    @staticmethod
    def from_file(path: str | Path) -> FilePlanReference:
        """Return the plan in a file."""
        return FilePlanReference(Path(path))

    @staticmethod
    def from_json_string(json_string: str) -> JsonContentPlanReference:
        """Return the plan in a text of JSON."""
        return JsonContentPlanReference(json_string)

    @staticmethod
    def from_smile_bytes(smile_bytes: bytes) -> BytesContentPlanReference:
        """Return the plan in bytes."""
        return BytesContentPlanReference(smile_bytes)


class FilePlanReference(PlanReference):
    """A plan in a file."""

    def get_file(self) -> Path:
        """Return the path of the file."""
        return Path(str(self._content)).resolve()


class JsonContentPlanReference(PlanReference):
    """A plan in a text of JSON."""

    def get_content(self) -> str:
        """Return the text."""
        return str(self._content)


class BytesContentPlanReference(PlanReference):
    """A plan in bytes."""

    def get_content(self) -> bytes:
        """Return the bytes."""
        return self._content if isinstance(self._content, bytes) else str(self._content).encode()
