"""The definition of functions: names, kinds of arguments, type of the result, body and kernel."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final
from zoneinfo import ZoneInfo

from funke.engine.errors import TypeMismatchError
from funke.engine.operators.time.clock import Clock, SystemClock
from funke.engine.sql.functions.rejections import call_rejection, type_text
from funke.engine.sql.functions.users.async_calls import AsyncCalls
from funke.engine.types.logical import (
    APPROXIMATE,
    BINARY,
    CHARACTER,
    DATETIME,
    INTEGRAL,
    INTERVAL,
    NUMERIC,
    ArrayType,
    BitmapType,
    BooleanType,
    DataType,
    DateType,
    DecimalType,
    Kinds,
    LocalZonedTimestampType,
    MapType,
    MultisetType,
    NullType,
    RowType,
    TimestampType,
    TimeType,
    VariantType,
    any_nullable,
    with_nullable,
)

if TYPE_CHECKING:
    from funke.engine.types.logical import SqlValue

__all__ = [
    "NOT_CONSTANT",
    "Argument",
    "BoundCall",
    "Function",
    "CurrentTime",
    "Session",
    "SymbolType",
    "bind",
    "constant",
    "rejection_of",
    "symbol",
]

Body = Callable[..., Any]
Kernel = Callable[..., Any]


class _NoConstant(Enum):
    """Says that an argument is not a constant; None would be the constant NULL."""

    VALUE = 0


NOT_CONSTANT: Final = _NoConstant.VALUE


class SymbolType(DataType):
    """The type of a word, or of a type, that stands among arguments: HOUR in FLOOR(t TO HOUR)."""

    def __init__(self) -> None:
        super().__init__(False)


@dataclass(frozen=True)
class Argument:
    """The type of an argument, and its value if that is a constant."""

    type: DataType
    value: SqlValue = NOT_CONSTANT
    # Whether it is a text that a JSON function has returned.
    is_json: bool = False
    # The role of a time column, which messages show behind its type.
    note: str = field(default="", compare=False)

    @property
    def is_constant(self) -> bool:
        return self.value is not NOT_CONSTANT


def constant(data_type: DataType, value: SqlValue) -> Argument:
    """Return the argument that is a constant."""
    return Argument(data_type, value)


def symbol(word: str | DataType) -> Argument:
    """Return the argument that is a word, or a type."""
    return Argument(SymbolType(), word)


class CurrentTime(Enum):
    """The time that a function returns when it is called without arguments."""

    # As Flink has it: that of the start of the query in batch mode, and that of each row in streams.
    OF_QUERY = 1
    # That of each row, in both modes.
    OF_ROW = 2


_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


@dataclass(frozen=True)
class Session:
    """The part of a session that functions see: its zone, its database, settings of asynchronous calls, and the time.

    `pandas_rows` is the most rows that a pandas function gets at once.
    """

    zone: datetime.tzinfo = field(default_factory=lambda: ZoneInfo("UTC"))
    database: str = "default_database"
    async_calls: AsyncCalls = field(default_factory=AsyncCalls)
    pandas_rows: int = 10_000
    # When the query started, in batch mode.
    started_ms: int | None = None
    # Names of the program's own functions, for messages about one that there is not.
    own_functions: tuple[str, ...] = field(default=(), compare=False, repr=False)
    # That of the task that computes the rows.
    clock: Clock = field(default_factory=SystemClock, compare=False, repr=False)

    def now(self, current_time: CurrentTime) -> datetime.datetime:
        started_ms = self.started_ms if current_time is CurrentTime.OF_QUERY else None
        return _EPOCH + datetime.timedelta(milliseconds=self.clock.now_ms() if started_ms is None else started_ms)


_KINDS: dict[str, Kinds] = {
    "any": (DataType,),
    "boolean": (BooleanType,),
    "text": CHARACTER,
    "bytes": BINARY,
    "number": NUMERIC,
    "integer": INTEGRAL,
    "decimal": (DecimalType,),
    "float": APPROXIMATE,
    "date": (DateType,),
    "time": (TimeType,),
    "timestamp": (TimestampType, LocalZonedTimestampType),
    "datetime": DATETIME,
    "interval": INTERVAL,
    "array": (ArrayType,),
    "map": (MapType,),
    "multiset": (MultisetType,),
    "row": (RowType,),
    "variant": (VariantType,),
    "bitmap": (BitmapType,),
    "symbol": (SymbolType,),
}


@dataclass(frozen=True)
class Parameter:
    """The kinds of types of one parameter of a form: `text`, `text/bytes`."""

    text: str

    @cached_property
    def kinds(self) -> Kinds:
        return tuple(each for name in self.text.split("/") for each in _KINDS[name])

    def accepts(self, data_type: DataType) -> bool:
        if isinstance(data_type, SymbolType):
            return SymbolType in self.kinds
        # A bare NULL fits any parameter.
        return isinstance(data_type, (*self.kinds, NullType))


@dataclass(frozen=True)
class Form:
    """One way to call a function, as a text: `text, integer?, any...` (`?` may be left out, `...` one or more)."""

    text: str

    @cached_property
    def parameters(self) -> list[tuple[Parameter, str]]:
        """Each parameter with its mark: nothing, `?` or `...`."""
        parameters = []
        for each in filter(None, (part.strip() for part in self.text.split(","))):
            mark = "..." if each.endswith("...") else "?" if each.endswith("?") else ""
            parameters.append((Parameter(each.removesuffix(mark) if mark else each), mark))
        return parameters

    def accepts(self, types: Sequence[DataType]) -> bool:
        index = 0
        for parameter, mark in self.parameters:
            if mark == "..." and index < len(types):
                return all(parameter.accepts(each) for each in types[index:])
            if index < len(types):
                if not parameter.accepts(types[index]):
                    return False
                index += 1
            elif mark != "?":
                return False
        return index == len(types)


# The type of a call that is about to be bound; None if its arguments have none.
TypeRule = Callable[[Sequence[Argument]], DataType | None]


@dataclass(frozen=True)
class Function:
    """A function or operator of SQL, under all its names."""

    names: tuple[str, ...]
    # Alternatives, with a bar between them.
    forms: str
    result: DataType | TypeRule
    # A body, or a function that makes one for the types of a call.
    body: Body | None = None
    body_for: Callable[[BoundCall], Body] | None = None
    # Makes the kernel for the types of a call; None if there is none.
    kernel_for: Callable[[BoundCall], Kernel | None] | None = None
    # Strict functions give NULL if an argument is NULL, and their bodies see no None.
    is_strict: bool = True
    is_deterministic: bool = True
    # The time that it returns, if it is a function of the time.
    current_time: CurrentTime | None = None
    # Whether it may return NULL for arguments that are not NULL.
    may_give_null: bool = False
    purpose: str = ""

    @property
    def name(self) -> str:
        return self.names[0]

    @property
    def may_skip_repeats(self) -> bool:
        """Whether its body may be called once for all rows with the same arguments."""
        return self.is_deterministic

    @cached_property
    def alternatives(self) -> list[Form]:
        return [Form(each.strip()) for each in self.forms.split("|")]

    def result_type(self, arguments: Sequence[Argument]) -> DataType | None:
        """Return the type of a call; None if the function cannot be called so."""
        types = [each.type for each in arguments]
        if not any(form.accepts(types) for form in self.alternatives):
            return None
        if not isinstance(self.result, DataType):
            result = self.result(arguments)
        else:
            result = with_nullable(self.result, self.is_strict and any_nullable(types))
        if result is not None and self.may_give_null:
            return with_nullable(result, True)
        return result


@dataclass(frozen=True)
class BoundCall:
    """A function with the types of its arguments and of its result."""

    function: Function
    arguments: tuple[Argument, ...]
    result: DataType
    session: Session = field(default_factory=Session)

    @property
    def types(self) -> list[DataType]:
        return [each.type for each in self.arguments]

    @property
    def is_deterministic(self) -> bool:
        """Whether it returns the same value for the same arguments."""
        return self.function.is_deterministic and not self.asks_clock

    @property
    def asks_clock(self) -> bool:
        """Whether its value is the current time: UNIX_TIMESTAMP() asks for it, UNIX_TIMESTAMP('…') does not."""
        return self.function.current_time is not None and not self.arguments

    def body(self) -> Body:
        """Return the function on Python values."""
        function = self.function
        body = function.body_for(self) if function.body_for is not None else function.body
        assert body is not None, function.name
        return _strict(body) if function.is_strict else body

    def kernel(self) -> Kernel | None:
        """Return the function on Arrow columns, if it has a form for these types."""
        return self.function.kernel_for(self) if self.function.kernel_for is not None else None


def bind(function: Function, arguments: Sequence[Argument], session: Session | None = None) -> BoundCall:
    """Return the call of a function with arguments of some types; rejects types that it does not take."""
    result = function.result_type(arguments)
    if result is None:
        raise TypeMismatchError(rejection_of(function.name, arguments, function.alternatives))
    return BoundCall(function, tuple(arguments), result, session or Session())


def rejection_of(name: str, arguments: Sequence[Argument], forms: Sequence[Form]) -> str:
    """The message for a call whose arguments fit none of these forms."""
    signatures = [[(parameter.text, mark) for parameter, mark in form.parameters] for form in forms]
    types = [each.type for each in arguments]
    return call_rejection(name, types, list(map(_argument_text, arguments)), signatures)


def _argument_text(argument: Argument) -> str:
    if isinstance(argument.type, SymbolType):
        return type_text(argument.value) if isinstance(argument.value, DataType) else str(argument.value)
    return f"{type_text(argument.type)} {argument.note}".rstrip()


def _strict(body: Body) -> Body:
    def call(*values: SqlValue) -> SqlValue:
        for each in values:
            if each is None:
                return None
        return body(*values)

    return call
