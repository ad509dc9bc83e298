"""Rules for the types of results that many functions share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from funke.engine.sql.functions.function import Argument, SymbolType, TypeRule
from funke.engine.types.logical import DataType, any_nullable, common_type, with_nullable

__all__ = ["always", "common", "like_argument", "nullable_like", "types_of"]


def types_of(arguments: Sequence[Argument]) -> list[DataType]:
    """Return the types of arguments, without words."""
    return [each.type for each in arguments if not isinstance(each.type, SymbolType)]


def like_argument(index: int = 0) -> TypeRule:
    """The type of one argument, with NULLs if any argument has them."""
    return lambda arguments: with_nullable(arguments[index].type, any_nullable(types_of(arguments)))


def common(arguments: Sequence[Argument]) -> DataType | None:
    """The common type of all arguments."""
    return common_type(types_of(arguments))


def nullable_like(data_type: DataType, *indexes: int) -> TypeRule:
    """A type with NULLs if the arguments at these indexes have them."""
    return lambda arguments: with_nullable(data_type, any_nullable(arguments[index].type for index in indexes))


@dataclass(frozen=True)
class always:
    """The same type for all arguments.

    Two such rules for one type are equal, so that a user function is the same one wherever a query names it.
    """

    data_type: DataType

    def __call__(self, arguments: Sequence[Argument]) -> DataType:
        return self.data_type
