"""Expressions that are written as a text, as programs of Flink 1.x do: `select("a, b.sum as total")`."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal, NoReturn, TypeVar

from funke.engine.errors import at_user_line
from funke.engine.flink_exceptions import ValidationException
from funke.engine.sql.functions.built_in_names import built_in_names
from funke.engine.sql.syntax import expressions as syntax
from funke.engine.sql.syntax.text_form import DEFINITION_NAMES
from funke.table.expression import Expression, TimeIntervalUnit, TimePointUnit
from funke.table.expression_members.operands import symbol, to_syntax
from funke.table.expressions import call, col, lit, null_of, row_interval
from funke.table.flink_1.old_name_notes import note_old_name
from funke.table.types import DataType, DataTypes

__all__ = ["expression_of", "expressions_of"]

T = TypeVar("T")
IsFunction = Callable[[str], bool]


def expressions_of(
    values: Iterable[Any], is_user_function: IsFunction = lambda name: False
) -> tuple[syntax.Expression, ...]:
    """The syntax of arguments that are expressions; a text holds one or several, with commas between them.

    `is_user_function` knows the functions whose names go before those of built-in ones.
    """
    expressions: list[syntax.Expression] = []
    for value in values:
        if isinstance(value, str):
            note_old_name("expressions as texts")
            expressions += map(to_syntax, _Parser(value, is_user_function).expression_list())
        else:
            expressions.append(to_syntax(value))
    return tuple(expressions)


def expression_of(value: Any, is_user_function: IsFunction = lambda name: False) -> syntax.Expression:
    """The syntax of an argument that is one expression."""
    if isinstance(value, str):
        note_old_name("expressions as texts")
        return to_syntax(_Parser(value, is_user_function).single_expression())
    return to_syntax(value)


@dataclass(frozen=True, slots=True)
class _Token:
    kind: Literal["number", "string", "word", "sign", "end"]
    text: str
    start: int

    @property
    def key(self) -> str:
        """What the grammar compares: keywords have no case."""
        return self.text.lower() if self.kind == "word" else self.text if self.kind == "sign" else ""


_TOKEN = re.compile(
    r"""\s*(?:
        (?P<number> (?:\d+(?:\.\d+)?|\.\d+) (?:[eE][+-]?\d+)? [lLpPfFdD]? (?![\w$]) )
      | (?P<string> '(?:''|[^'])*' | "(?:""|[^"])*" )
      | (?P<word> (?:[^\W\d]|\$)[\w$]* )
      | (?P<sign> === | !== | == | != | <> | <= | >= | && | \|\| | [-+*/%!?:.,()<>=] )
    )""",
    re.VERBOSE,
)
_TYPES: dict[str, Callable[[], DataType]] = {
    "byte": DataTypes.TINYINT,
    "short": DataTypes.SMALLINT,
    "int": DataTypes.INT,
    "long": DataTypes.BIGINT,
    "float": DataTypes.FLOAT,
    "double": DataTypes.DOUBLE,
    "boolean": DataTypes.BOOLEAN,
    "string": DataTypes.STRING,
    "decimal": lambda: DataTypes.DECIMAL(38, 18),
    "sql_date": DataTypes.DATE,
    "sql_time": DataTypes.TIME,
    "sql_timestamp": lambda: DataTypes.TIMESTAMP(3),
    "interval_months": lambda: DataTypes.INTERVAL(DataTypes.MONTH()),
    "interval_millis": lambda: DataTypes.INTERVAL(DataTypes.SECOND(3)),
}
_COLLECTION_TYPES = ("primitive_array", "object_array", "map")
_COMPARISONS = {
    "===": "=",
    "==": "=",
    "=": "=",
    "!==": "<>",
    "!=": "<>",
    "<>": "<>",
    ">": ">",
    ">=": ">=",
    "<": "<",
    "<=": "<=",
}
_LENGTHS_OF_TIME = frozenset(
    word
    for unit in ("year", "quarter", "month", "week", "day", "hour", "minute", "second", "milli")
    for word in (unit, f"{unit}s")
)
_WINDOW_BOUNDS = frozenset({"current_row", "current_range", "unbounded_row", "unbounded_range"})
# Suffixes that are properties of an expression; `()` may follow.
_PROPERTIES = {
    "asc": "asc",
    "desc": "desc",
    "distinct": "distinct",
    "flatten": "flatten",
    "todate": "to_date",
    "totime": "to_time",
    "totimestamp": "to_timestamp",
}
_TRIM_SIDES = ("both", "leading", "trailing")
_INTERVAL_UNITS = {unit.name.lower(): unit for unit in TimeIntervalUnit}
_POINT_UNITS = {unit.name.lower(): unit for unit in TimePointUnit}


@functools.cache
def _built_ins() -> dict[str, str]:
    """Functions by the names that expressions have for them, in small letters: `regexpExtract`, `isNull`, `plus`."""
    by_name = {name.lower().replace("_", ""): name.lower() for name in built_in_names()}
    by_definition = {definition_name.lower(): name for name, definition_name in DEFINITION_NAMES.items()}
    return {**by_name, **by_definition, "uppercase": "upper", "lowercase": "lower", "minusprefix": "-"}


def _called(name: str, *arguments: Any) -> Expression[Any]:
    return Expression(syntax.Call(name, tuple(map(to_syntax, arguments))))


def _property(operand: Expression[Any], name: str) -> Expression[Any]:
    value = getattr(operand, name)
    assert isinstance(value, Expression)
    return value


class _Parser:
    """Reads one text from left to right; a method for each rule of the grammar."""

    def __init__(self, text: str, is_user_function: IsFunction) -> None:
        self._text = text
        self._is_user_function = is_user_function
        self._tokens = self._tokenized()
        self._index = 0

    # Rules

    def expression_list(self) -> list[Expression[Any]]:
        expressions = self._separated(self._expression)
        self._require_end()
        return expressions

    def single_expression(self) -> Expression[Any]:
        expression = self._expression()
        self._require_end()
        return expression

    def _expression(self) -> Expression[Any]:
        if self._at_range():
            first = self._range_bound()
            self._take()
            return _called("range", first, self._range_bound())
        if self._token.key in _WINDOW_BOUNDS and not self._at("(", 1):
            return _called(self._take().key)
        value = self._logic()
        if self._accept("?"):
            if_true = self._expression()
            self._expect(":")
            value = value.then(if_true, self._expression())
        return value.alias(*self._names()) if self._accept("as") else value

    def _logic(self) -> Expression[Any]:
        # As in Flink 1.x, && does not bind closer than ||.
        return self._left_to_right({"&&": "and", "||": "or"}, self._comparison)

    def _comparison(self) -> Expression[Any]:
        left = self._sum()
        name = _COMPARISONS.get(self._token.key)
        if name is None:
            return left
        self._take()
        return _called(name, left, self._sum())

    def _sum(self) -> Expression[Any]:
        return self._left_to_right({"+": "+", "-": "-"}, self._product)

    def _product(self) -> Expression[Any]:
        return self._left_to_right({"*": "*", "/": "/", "%": "%"}, self._unary)

    def _unary(self) -> Expression[Any]:
        if self._accept("!"):
            return _called("not", self._composite())
        if self._accept("+"):
            return self._composite()
        if self._at("-") and self._ahead(1).kind != "number":
            self._take()
            return _called("-", self._composite())
        return self._composite()

    def _composite(self) -> Expression[Any]:
        value = self._atom()
        while True:
            if self._accept("."):
                value = self._suffix(value)
            elif self._at("over") and self._ahead(1).kind == "word":
                self._take()
                value = value.over(col(self._name()))
            else:
                return value

    def _atom(self) -> Expression[Any]:
        token = self._token
        if self._accept("("):
            value = self._expression()
            self._expect(")")
            return value
        if self._accept("*"):
            return col("*")
        if token.kind == "number" or self._at("-"):
            return self._number()
        if token.kind == "string":
            quote = self._take().text[0]
            return lit(token.text[1:-1].replace(2 * quote, quote))
        if self._accept("?"):
            return self._choice(*self._arguments(3))
        if token.kind != "word":
            self._fail(token, "an expression")
        if self._at("(", 1):
            return self._prefix()
        if self._at(".", 1) and self._at("distinct", 2) and self._at("(", 3) and not self._at(")", 4):
            name = self._take().text
            self._expect(".")
            self._take()
            return self._function(name, *self._arguments()).distinct
        self._take()
        return lit(token.key == "true") if token.key in ("true", "false") else col(token.text)

    def _number(self) -> Expression[Any]:
        sign = "-" if self._accept("-") else ""
        token = self._take()
        if token.kind != "number":
            self._fail(token, "a number")
        text, suffix = sign + token.text, token.text[-1].lower()
        if suffix == "l":
            return self._within(token, int(text[:-1]) if text[:-1].lstrip("-").isdigit() else None, 63)
        if suffix == "p":
            return lit(Decimal(text[:-1]))
        if suffix == "f":
            return lit(float(text[:-1]), DataTypes.FLOAT().not_null())
        if token.text.isdigit():
            return self._within(token, int(text), 31)
        return lit(float(text.rstrip("dD")))

    def _within(self, token: _Token, value: int | None, bits: int) -> Expression[Any]:
        if value is None or not -(1 << bits) <= value < 1 << bits:
            self._fail(token, "a LONG" if bits == 63 else "an INT, or a LONG with the suffix L")
        return lit(value, (DataTypes.BIGINT() if bits == 63 else DataTypes.INT()).not_null())

    # What follows a point, and what stands before parentheses

    def _suffix(self, operand: Expression[Any]) -> Expression[Any]:
        token = self._take()
        if token.key == "?":
            return self._choice(operand, *self._arguments(2))
        if token.kind != "word":
            self._fail(token, "the name of a function")
        if token.key in _LENGTHS_OF_TIME and not self._at("("):
            return _property(operand, token.key)
        if token.key == "rows" and not self._at("("):
            rows = to_syntax(operand)
            if not isinstance(rows, syntax.Literal) or not isinstance(rows.value, int):
                self._fail(token, "a number before it")
            return row_interval(rows.value)
        if token.key in _PROPERTIES and not (self._at("(") and not self._at(")", 1)):
            self._accept_empty()
            return _property(operand, _PROPERTIES[token.key])
        if not self._at("("):
            return self._function(token.text, operand)
        return self._special(token, [operand]) or self._function(token.text, operand, *self._arguments())

    def _prefix(self) -> Expression[Any]:
        token = self._take()
        if token.key in ("null", "nullof"):
            return null_of(self._in_parentheses(self._type))
        return self._special(token, []) or self._function(token.text, *self._arguments())

    def _special(self, token: _Token, operands: list[Expression[Any]]) -> Expression[Any] | None:
        """A call that takes more than expressions, behind its operand or with the operand as an argument."""
        rule = _SPECIAL.get(token.key)
        if rule is None:
            return None
        start = self._index
        self._expect("(")
        value = rule(self, token, operands)
        if value is None:
            self._index = start
            return None
        self._expect(")")
        return value

    def _cast(self, token: _Token, operands: list[Expression[Any]]) -> Expression[Any]:
        return self._operand(operands).cast(self._type())

    def _alias(self, token: _Token, operands: list[Expression[Any]]) -> Expression[Any]:
        return self._operand(operands).alias(*self._separated(self._name))

    def _trim(self, token: _Token, operands: list[Expression[Any]]) -> Expression[Any] | None:
        if self._token.key not in _TRIM_SIDES or not self._at(",", 1):
            return None
        side = symbol(self._take().text.upper())
        self._expect(",")
        removed = self._expression()
        if not operands:
            self._expect(",")
        return _called("trim", side, removed, *(operands or [self._expression()]))

    def _with_unit(self, token: _Token, operands: list[Expression[Any]]) -> Expression[Any] | None:
        """`extract`, `floor` and `ceil`; the two last ones also round numbers, without a unit."""
        if operands and self._at(")"):
            return None
        operand = operands[0] if operands else self._expression()
        if not operands and not self._accept(","):
            return _called(token.key, operand) if token.key != "extract" else self._fail(self._token, "a unit of time")
        unit = symbol(self._unit(_INTERVAL_UNITS).name)
        return _called("extract", unit, operand) if token.key == "extract" else _called(token.key, operand, unit)

    def _difference(self, token: _Token, operands: list[Expression[Any]]) -> Expression[Any]:
        unit = symbol(self._unit(_POINT_UNITS).name)
        self._expect(",")
        return _called("timestampdiff", unit, *self._separated(self._expression))

    def _time(self, token: _Token, operands: list[Expression[Any]]) -> Expression[Any] | None:
        """`toDate(a)` and its kin; with more than one argument they are the functions of SQL."""
        value = self._expression()
        return None if operands or not self._at(")") else _property(value, _PROPERTIES[token.key])

    def _log(self, token: _Token, operands: list[Expression[Any]]) -> Expression[Any] | None:
        # `a.log(2)` is the logarithm to base 2; `log(2, a)` has the order of SQL.
        return _called("log", self._expression(), *operands) if operands and not self._at(")") else None

    def _flatten(self, token: _Token, operands: list[Expression[Any]]) -> Expression[Any]:
        return self._expression().flatten

    def _over(self, token: _Token, operands: list[Expression[Any]]) -> Expression[Any]:
        return self._operand(operands).over(col(self._name()))

    def _operand(self, operands: list[Expression[Any]]) -> Expression[Any]:
        """The operand of a special call: before the point, or the first argument."""
        if operands:
            return operands[0]
        value = self._expression()
        self._expect(",")
        return value

    def _choice(self, *arguments: Expression[Any]) -> Expression[Any]:
        condition, if_true, if_false = arguments
        return condition.then(if_true, if_false)

    def _function(self, name: str, *arguments: Expression[Any]) -> Expression[Any]:
        if self._is_user_function(name):
            return call(name, *arguments)
        key = name.lower()
        if key == "ifthenelse" and len(arguments) == 3:
            return self._choice(*arguments)
        built_in = _built_ins().get(key) or _built_ins().get(key.replace("_", ""))
        return call(name, *arguments) if built_in is None else _called(built_in, *arguments)

    def _unit(self, units: dict[str, T]) -> T:
        token = self._take()
        unit = units.get(token.key)
        if unit is None:
            self._fail(token, f"a unit of time: {', '.join(units).upper()}")
        return unit

    def _type(self) -> DataType:
        token = self._take()
        if token.key in _COLLECTION_TYPES:
            return self._in_parentheses(self._map_type if token.key == "map" else self._array_type)
        make = _TYPES.get(token.key)
        if make is None:
            self._fail(token, f"a type: {', '.join((*_TYPES, *_COLLECTION_TYPES)).upper()}")
        return make()

    def _array_type(self) -> DataType:
        return DataTypes.ARRAY(self._type())

    def _map_type(self) -> DataType:
        key = self._type()
        self._expect(",")
        return DataTypes.MAP(key, self._type())

    def _at_range(self) -> bool:
        token = self._token
        is_bound = token.kind in ("word", "number") or token.key == "*"
        return is_bound and self._at("to", 1) and self._ahead(2).kind in ("word", "number")

    def _range_bound(self) -> Expression[Any]:
        return self._number() if self._token.kind == "number" else col(self._name())

    def _names(self) -> list[str]:
        return self._in_parentheses(lambda: self._separated(self._name)) if self._at("(") else [self._name()]

    def _name(self) -> str:
        token = self._take()
        if token.kind != "word" and token.key != "*":
            self._fail(token, "a name")
        return token.text

    # What rules are made of

    def _left_to_right(self, names: dict[str, str], operand: Callable[[], Expression[Any]]) -> Expression[Any]:
        value = operand()
        while self._token.key in names:
            value = _called(names[self._take().key], value, operand())
        return value

    def _arguments(self, count: int | None = None) -> list[Expression[Any]]:
        if self._accept_empty():
            return []
        start = self._token
        arguments = self._in_parentheses(lambda: self._separated(self._expression))
        if count not in (None, len(arguments)):
            self._fail(start, f"{count} arguments")
        return arguments

    def _separated(self, rule: Callable[[], T]) -> list[T]:
        parts = [rule()]
        while self._accept(","):
            parts.append(rule())
        return parts

    def _in_parentheses(self, rule: Callable[[], T]) -> T:
        self._expect("(")
        value = rule()
        self._expect(")")
        return value

    # Tokens

    @property
    def _token(self) -> _Token:
        return self._tokens[self._index]

    def _ahead(self, distance: int) -> _Token:
        return self._tokens[min(self._index + distance, len(self._tokens) - 1)]

    def _at(self, key: str, distance: int = 0) -> bool:
        return self._ahead(distance).key == key

    def _take(self) -> _Token:
        token = self._token
        if token.kind != "end":
            self._index += 1
        return token

    def _accept(self, key: str) -> bool:
        is_there = self._at(key)
        if is_there:
            self._take()
        return is_there

    def _accept_empty(self) -> bool:
        is_there = self._at("(") and self._at(")", 1)
        if is_there:
            self._index += 2
        return is_there

    def _expect(self, key: str) -> None:
        if not self._accept(key):
            self._fail(self._token, f"'{key}'")

    def _require_end(self) -> None:
        if self._token.kind != "end":
            self._fail(self._token, "an operator or the end of the expression")

    def _tokenized(self) -> list[_Token]:
        tokens: list[_Token] = []
        end = len(self._text.rstrip())
        offset = 0
        while offset < end:
            match = _TOKEN.match(self._text, offset)
            if match is None:
                start = offset + len(self._text[offset:]) - len(self._text[offset:].lstrip())
                self._fail(_Token("sign", self._text[start:], start), "a name, a constant or an operator")
            kind: Any = match.lastgroup
            tokens.append(_Token(kind, match.group(kind), match.start(kind)))
            offset = match.end()
        return [*tokens, _Token("end", "", end)]

    def _fail(self, token: _Token, expected: str) -> NoReturn:
        token_text = f"'{token.text}'" if token.text else "the end"
        message = f"Could not parse expression at column {token.start + 1}: expected {expected}, found {token_text}"
        raise ValidationException(at_user_line(f"{message}\n{self._text}\n{' ' * token.start}^"))


_Rule = Callable[[_Parser, _Token, list[Expression[Any]]], Expression[Any] | None]
_SPECIAL: dict[str, _Rule] = {
    "cast": _Parser._cast,
    "as": _Parser._alias,
    "trim": _Parser._trim,
    "extract": _Parser._with_unit,
    "floor": _Parser._with_unit,
    "ceil": _Parser._with_unit,
    "timestampdiff": _Parser._difference,
    "todate": _Parser._time,
    "totime": _Parser._time,
    "totimestamp": _Parser._time,
    "log": _Parser._log,
    "flatten": _Parser._flatten,
    "over": _Parser._over,
}
