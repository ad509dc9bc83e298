"""What all data types of tables share, and the kinds they fall into."""

from __future__ import annotations

import pickle
from copy import copy
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing import Self

__all__ = [
    "AtomicType",
    "DataType",
    "FractionalType",
    "IntegralType",
    "NullType",
    "NumericType",
    "RawType",
    "UserDefinedType",
    "flag_text",
    "require",
]


class DataType:
    """The type of a value in a table, and whether the value may be null.

    >>> from funke.table import DataTypes
    >>> from funke.table.udf import DataType, udf
    >>> def rounded(result_type: DataType):
    ...     return udf(round, result_type=result_type)
    >>> DataTypes.INT().not_null() == DataTypes.INT(nullable=False)
    True
    """

    def __init__(self, nullable: bool = True) -> None:
        self._nullable = nullable
        self._conversion_cls = ""

    def not_null(self) -> Self:
        """Return the same type without nulls."""
        return self._with_nullable(False)

    def nullable(self) -> Self:
        """Return the same type with nulls."""
        return self._with_nullable(True)

    def bridged_to(self, conversion_cls: str) -> Self:
        """Note the Java class that Flink would represent values by; Funke has Python values only."""
        self._conversion_cls = conversion_cls
        return self

    @classmethod
    def type_name(cls) -> str:
        """Return the name of the type in capitals, BIGINT for example."""
        return cls.__name__.removesuffix("Type").upper()

    def need_conversion(self) -> bool:
        """Tell whether Python's values and the values inside a table differ."""
        return False

    def to_sql_type(self, obj: Any) -> Any:
        """Return the value inside a table for a Python value."""
        return obj

    def from_sql_type(self, obj: Any) -> Any:
        """Return the Python value for a value inside a table."""
        return obj

    def _with_nullable(self, nullable: bool) -> Self:
        changed = copy(self)
        changed._nullable = nullable
        return changed

    def __repr__(self) -> str:
        return f"{type(self).__name__}({flag_text(self._nullable)})"

    def __str__(self) -> str:
        return self.type_name()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash(str(self))


class AtomicType(DataType):
    """A type without element types or fields."""


class NullType(AtomicType):
    """The type of None."""

    def __init__(self) -> None:
        super().__init__(True)


class NumericType(AtomicType):
    """A type of numbers."""


class IntegralType(NumericType):
    """A type of whole numbers."""


class FractionalType(NumericType):
    """A type of numbers with a fraction."""


class RawType(DataType):
    """The type of pickled objects."""

    def from_sql_type(self, obj: bytes) -> Any:
        """Return the unpickled object."""
        return pickle.loads(obj)


class UserDefinedType(DataType):
    """A type made by the user, stored as another one.

    >>> from funke.table import DataTypes, UserDefinedType
    >>> class Celsius(UserDefinedType):
    ...     @classmethod
    ...     def sql_type(cls):
    ...         return DataTypes.DOUBLE()
    ...     def serialize(self, obj):
    ...         return obj["degrees"]
    ...     def deserialize(self, datum):
    ...         return {"degrees": datum}
    >>> Celsius().from_sql_type(Celsius().to_sql_type({"degrees": 21.5}))
    {'degrees': 21.5}
    """

    @classmethod
    def type_name(cls) -> str:
        """Return the name of the class in small letters."""
        return cls.__name__.lower()

    @classmethod
    def sql_type(cls) -> DataType:
        """Return the type it is stored as."""
        raise NotImplementedError(f"{cls.__name__} does not define sql_type()")

    @classmethod
    def module(cls) -> str:
        """Return the Python module of the type."""
        raise NotImplementedError(f"{cls.__name__} does not define module()")

    @classmethod
    def java_udt(cls) -> str:
        """Return the name of the Java class that belongs to it, if there is one."""
        return ""

    def need_conversion(self) -> bool:
        """Tell that values are converted."""
        return True

    def to_sql_type(self, obj: Any) -> Any:
        """Return the stored form of an object."""
        return None if obj is None else self.sql_type().to_sql_type(self.serialize(obj))

    def from_sql_type(self, obj: Any) -> Any:
        """Return the object of a stored form."""
        value = self.sql_type().from_sql_type(obj)
        return None if value is None else self.deserialize(value)

    def serialize(self, obj: Any) -> Any:
        """Return a value of `sql_type()` for an object."""
        raise NotImplementedError(f"{type(self).__name__} does not define serialize()")

    def deserialize(self, datum: Any) -> Any:
        """Return the object for a value of `sql_type()`."""
        raise NotImplementedError(f"{type(self).__name__} does not define deserialize()")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    __hash__ = DataType.__hash__


def flag_text(nullable: bool) -> str:
    """Return how a type's text shows whether it has nulls."""
    return str(nullable).lower()


def require(condition: bool, message: str) -> None:
    """Reject an argument with the error that PyFlink's assertions raise; programs may rely on it."""
    if not condition:
        raise AssertionError(message)
