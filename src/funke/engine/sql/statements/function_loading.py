"""Loads functions of the catalog: objects that a program has registered, or names in a Python module."""

from __future__ import annotations

import importlib
from typing import Protocol, runtime_checkable

from funke.engine.errors import UnsupportedFeatureError
from funke.engine.flink_exceptions import ValidationException
from funke.engine.sql.catalog.objects import CatalogFunction
from funke.engine.sql.syntax.user_function import UserFunction

__all__ = ["DecoratedFunction", "load_function"]


@runtime_checkable
class DecoratedFunction(Protocol):
    """An object that `udf()`, `udtf()`, `udaf()` or `udtaf()` returns."""

    def _to_user_function(self) -> UserFunction: ...


def load_function(function: CatalogFunction) -> UserFunction:
    """Return a function of the catalog; a class name is that of an object that `udf()` made, behind its module."""
    loaded = function.function
    if loaded is None:
        if function.language.upper() != "PYTHON":
            raise UnsupportedFeatureError(
                f"the function '{function.class_name}' of language {function.language.upper()}",
                "Funke runs no Flink JVM; write it in Python",
            )
        loaded = _imported(function.class_name)
    if not isinstance(loaded, DecoratedFunction):
        raise ValidationException(
            f"'{function.class_name}' is not a table function; decorate it with @udf, @udtf, @udaf or @udtaf"
        )
    return loaded._to_user_function()


def _imported(class_name: str) -> object:
    module, _, name = class_name.rpartition(".")
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise ValidationException(
            f"the function '{class_name}' cannot be loaded: {error}; it is named 'module.function'"
        ) from error
