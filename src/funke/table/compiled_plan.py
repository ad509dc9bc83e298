"""Plans that are stored and run later; none are here."""

from __future__ import annotations

from typing import Any, NoReturn

from funke.engine.errors import UnsupportedFeatureError

__all__ = ["CompiledPlan"]


class CompiledPlan:
    """A plan that can be stored; it can be imported and annotated with, and none can be made."""

    def __new__(cls, *_args: Any, **_kwargs: Any) -> NoReturn:
        raise UnsupportedFeatureError("CompiledPlan", "plans are not stored; run the statements again")
