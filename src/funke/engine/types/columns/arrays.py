"""Names for the arrays that columns are worked on as; nothing here loads NumPy or Arrow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import numpy.typing as npt
    import pyarrow as pa

__all__ = ["Array", "Datum"]

# A NumPy array with elements of any type.
Array: TypeAlias = "npt.NDArray[Any]"
# What a function on columns gets and gives: a column, or one value that stands for all rows.
Datum: TypeAlias = "pa.Array | pa.Scalar"
