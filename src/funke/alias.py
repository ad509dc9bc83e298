"""Makes `import pyflink...` give Funke's modules, so that a PyFlink program runs as it is.

Each Funke module then stands in `sys.modules` under two names, as one object: classes are identical whichever name they
were imported by, and they pickle under Funke's name, so the receiver of a pickle needs no alias.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
import threading
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

from funke.engine.errors import ConfigurationError, at_user_line

__all__ = ["install", "installed_pyflink", "is_installed", "uninstall"]

_ALIAS = "pyflink"
_REAL = "funke"
_MISSING_REASONS = {
    "pyflink.table": "this part of the Table API is not available",
    "pyflink.fn_execution": "it is PyFlink's own runtime",
}
_lock = threading.Lock()


def install() -> None:
    """Let `pyflink` and everything below it resolve to Funke in this process; repeating it changes nothing."""
    with _lock:
        if is_installed():
            return
        _reject_loaded_pyflink()
        # In front of all other finders: an installed PyFlink must not be found first.
        sys.meta_path.insert(0, _AliasFinder())


def uninstall() -> None:
    """Take the alias away again; modules that are already imported keep working."""
    with _lock:
        sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, _AliasFinder)]
        for name in [name for name in sys.modules if _is_alias(name)]:
            del sys.modules[name]


def installed_pyflink() -> str | None:
    """The folder of a PyFlink that is installed and would be found without the alias."""
    spec = PathFinder.find_spec(_ALIAS)
    indexes = [] if spec is None else list(spec.submodule_search_locations or [])
    return indexes[0] if indexes else None


def is_installed() -> bool:
    """Tell whether `import pyflink` gives Funke."""
    return any(isinstance(finder, _AliasFinder) for finder in sys.meta_path)


class _AliasFinder(MetaPathFinder):
    """Finds `pyflink.x` when there is `funke.x`."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not _is_alias(fullname):
            _explain_missing(fullname, path)
            return None
        real_name = _REAL + fullname[len(_ALIAS) :]
        if real_name not in sys.modules and importlib.util.find_spec(real_name) is None:
            raise _missing(fullname)
        return ModuleSpec(fullname, _AliasLoader(real_name), origin=f"alias of {real_name}")


class _AliasLoader(Loader):
    """Hands out a module that exists already, under another name."""

    def __init__(self, real_name: str) -> None:
        self._real_name = real_name
        self._real_spec: ModuleSpec | None = None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = importlib.import_module(self._real_name)
        self._real_spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        # The import system has just stamped the alias's spec on the module; reload() and pickling need its own.
        module.__spec__ = self._real_spec


def _is_alias(name: str) -> bool:
    return name == _ALIAS or name.startswith(_ALIAS + ".")


def _explain_missing(real_name: str, path: Sequence[str] | None) -> None:
    """Tell why `from pyflink.table import x` finds nothing: Python looks for a module `funke.table.x` at last."""
    name = _ALIAS + real_name[len(_REAL) :]
    is_inside = real_name.startswith(f"{_REAL}.") and name not in _MISSING_REASONS
    if is_inside and _missing_reason(name) and PathFinder.find_spec(real_name, path) is None:
        raise _missing(name)


def _missing(name: str) -> ModuleNotFoundError:
    text = f"No module named '{name}': Funke stands in for PyFlink here and does not have it"
    reason = _missing_reason(name)
    return ModuleNotFoundError(at_user_line(f"{text}; {reason}" if reason else text), name=name)


def _missing_reason(name: str) -> str | None:
    return next((reason for module, reason in _MISSING_REASONS.items() if f"{name}.".startswith(f"{module}.")), None)


def _reject_loaded_pyflink() -> None:
    loaded = sys.modules.get(_ALIAS)
    if loaded is not None and loaded is not sys.modules.get(_REAL):
        raise ConfigurationError(
            f"PyFlink is already imported from {loaded.__file__}; "
            "install Funke's alias before the first `import pyflink`"
        )
