"""Keeps PySpark's tools for tests out of programs that do not use them.

To find out whether there is NumPy, the converters of arguments import `pyspark.testing.utils` at the first call with a
list, and with it pandas and unittest: 0.3 s and 25 MB in the driver, and again where slots are forked.
"""

from __future__ import annotations

import sys
from typing import Any

__all__ = ["use_lean_converters"]


def use_lean_converters() -> None:
    """Lets both converters ask for NumPy's own classes instead; harmless when done again."""
    from pyspark.sql import types

    types.NumpyScalarConverter.can_convert = _is_scalar  # type: ignore[method-assign, assignment]
    types.NumpyArrayConverter.can_convert = _is_vector  # type: ignore[method-assign, assignment]


def _is_scalar(converter: Any, value: Any) -> bool:
    # Who has not loaded NumPy has no values of it.
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, numpy.generic)


def _is_vector(converter: Any, value: Any) -> bool:
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, numpy.ndarray) and value.ndim == 1
