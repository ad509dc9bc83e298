"""Lets pickles find classes whose module has another name now.

Checkpoints and savepoints name classes by their module. A module that holds such a class stands in this table under the
name that it had in earlier versions, for as long as those savepoints can be restored.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

__all__ = ["MOVED_MODULES", "install_finder"]

# Both without `funke.engine.`.
MOVED_MODULES = {
    "jobs.sources.source_feed": "jobs.sources.source_coordinator",
}
_ROOT = "funke.engine."


class _MovedFinder(MetaPathFinder, Loader):
    """Gives the module of today for a name of earlier versions."""

    def __init__(self) -> None:
        self._own_specs: dict[str, ModuleSpec | None] = {}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        is_moved = fullname.startswith(_ROOT) and fullname[len(_ROOT) :] in MOVED_MODULES
        return ModuleSpec(fullname, self) if is_moved else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = importlib.import_module(_ROOT + MOVED_MODULES[spec.name[len(_ROOT) :]])
        self._own_specs[spec.name] = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        # The import system has put the old name's spec on the module.
        old_name = module.__spec__.name if module.__spec__ is not None else ""
        module.__spec__ = self._own_specs.pop(old_name)


def install_finder() -> None:
    """Adds the finder behind all others, which are asked first: only names that they do not know reach it."""
    if not any(isinstance(finder, _MovedFinder) for finder in sys.meta_path):
        sys.meta_path.append(_MovedFinder())
