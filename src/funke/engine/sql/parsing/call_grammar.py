"""Calls of functions: plain ones, those of aggregates, and those with a syntax of their own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NoReturn

from funke.engine.errors import UnsupportedFeatureError
from funke.engine.sql.parsing.expression_grammar import ExpressionGrammar
from funke.engine.sql.parsing.interval_literals import UNITS
from funke.engine.sql.parsing.literals import string_literal, word_literal
from funke.engine.sql.parsing.reserved_words import NILADIC_FUNCTIONS, RESERVED_FUNCTIONS, RESERVED_WORDS
from funke.engine.sql.syntax.expressions import (
    Call,
    Expression,
    Name,
    OrderItem,
    OverWindow,
    ScalarQuery,
    Star,
    Symbol,
    TableArgument,
    TypeArgument,
)
from funke.engine.sql.syntax.position import Position
from funke.engine.sql.syntax.queries import Relation, SubQuery
from funke.engine.types.logical import LONGEST, VarCharType

__all__ = ["CallGrammar"]

_STRING = VarCharType(LONGEST)
# Units of time points that are not units of intervals.
_POINT_UNITS = [
    "MILLENNIUM",
    "CENTURY",
    "DECADE",
    "EPOCH",
    "ISODOW",
    "ISOYEAR",
    "DOW",
    "DOY",
    "MILLISECOND",
    "MICROSECOND",
    "NANOSECOND",
    "FRAC_SECOND",
    "SQL_TSI_FRAC_SECOND",
    "SQL_TSI_MICROSECOND",
    "SQL_TSI_SECOND",
    "SQL_TSI_MINUTE",
    "SQL_TSI_HOUR",
    "SQL_TSI_DAY",
    "SQL_TSI_WEEK",
    "SQL_TSI_MONTH",
    "SQL_TSI_QUARTER",
    "SQL_TSI_YEAR",
]
_ABSENT_BY_DEFAULT = ("json_array", "json_arrayagg")


class CallGrammar(ExpressionGrammar):
    def table_reference(self) -> Relation:
        """A table by its path, or a query in parentheses."""
        raise NotImplementedError

    def call(self) -> Expression:
        """A call of a function, or another form that starts with a word and a parenthesis."""
        key = self.token.key
        has_parenthesis = self.ahead().key == "("
        if key in NILADIC_FUNCTIONS and not has_parenthesis:
            return Call(self.advance().key.lower(), position=self.position(self.before()))
        if not has_parenthesis:
            return self._reject_name() if key in RESERVED_WORDS else self._plain_call()
        if key in _FORMS:
            return self._special_call()
        if key in RESERVED_WORDS and key not in RESERVED_FUNCTIONS and key not in NILADIC_FUNCTIONS:
            # The word, not what follows it, is what cannot stand here.
            self.reject()
        return self._plain_call()

    def _reject_name(self) -> NoReturn:
        """A word that begins a constant, or a type, wants something else behind it."""
        if self.token.key in ("DATE", "TIME", "TIMESTAMP"):
            position = self.position()
            text = self.text[self.token.start : self.ahead().end]
            self.fail_at(position, f'Encountered "{" ".join(text.split())}" at {position}.')
        self.reject_word()

    def _special_call(self) -> Expression:
        token = self.advance()
        position = self.position(token)
        self.expect("(")
        call = _FORMS[token.key](self, token.key.lower(), position)
        self.expect(")")
        return self._with_aggregation(replace(call, position=self.span(position)))

    # Plain calls

    def _plain_call(self) -> Expression:
        position = self.position()
        path = self._function_path()
        self.expect("(")
        quantifier = self.accept_any("DISTINCT", "ALL")
        if quantifier and self.at_any(")", "*"):
            self.reject()
        arguments, names = self._arguments()
        name = path[-1].lower()
        order_by = self.order_by() if name == "array_agg" else ()
        self.expect(")")
        call = Call(
            name,
            arguments,
            is_distinct=quantifier == "DISTINCT",
            argument_names=names,
            within_group=order_by,
            path=() if path == (name,) else path,
            position=self.span(position),
        )
        return self._with_aggregation(call)

    def _function_path(self) -> tuple[str, ...]:
        if self.token.key in RESERVED_FUNCTIONS or self.token.key in NILADIC_FUNCTIONS:
            return (self.advance().text,)
        return self.path()

    def _arguments(self) -> tuple[tuple[Expression, ...], tuple[str, ...]]:
        """The arguments, and the names of the last of them."""
        if self.at(")"):
            return (), ()
        if self.at("*"):
            position = self.position()
            self.advance()
            return (Star(position=position),), ()
        arguments = self.separated(self._named_argument)
        names = tuple(name for name, _ in arguments if name is not None)
        return tuple(argument for _, argument in arguments), names

    def _named_argument(self) -> tuple[str | None, Expression]:
        name = None
        if self.ahead().key == "=>":
            name = self.identifier()
            self.expect("=>")
        return name, self._argument()

    def _argument(self) -> Expression:
        position = self.position()
        if self.at("TABLE"):
            return self._table_argument()
        if self.accept("DEFAULT"):
            return Call("default", position=position)
        if self.at("DESCRIPTOR") and self.ahead().key == "(":
            self.advance()
            columns = self.in_parentheses(self._descriptor_column)
            return Call("descriptor", columns, position=position)
        argument = self.expression()
        if isinstance(argument, ScalarQuery) and self.at_any("PARTITION", "ORDER"):
            table = SubQuery(argument.query, position=position)
            return TableArgument(table, self._table_partition(), self._table_order(), position=position)
        return argument

    def _table_argument(self) -> Expression:
        """`TABLE t PARTITION BY a ORDER BY b`."""
        position = self.position()
        self.expect("TABLE")
        table = self.table_reference()
        return TableArgument(table, self._table_partition(), self._table_order(), position=position)

    def _table_partition(self) -> tuple[Expression, ...]:
        """PARTITION BY a, or PARTITION BY (a, b)."""
        if not self.accept("PARTITION", "BY"):
            return ()
        if self.at("("):
            return self.in_parentheses(self.expression)
        # A comma goes on with the next argument of the function.
        return (self.expression(),)

    def _table_order(self) -> tuple[OrderItem, ...]:
        if not self.accept("ORDER", "BY"):
            return ()
        if self.at("("):
            return self.in_parentheses(self.order_item)
        return (self.order_item(),)

    def _descriptor_column(self) -> Expression:
        position = self.position()
        return Name((self.identifier(),), position=position)

    # Behind a call

    def _with_aggregation(self, call: Call) -> Call:
        """[RESPECT NULLS] [WITHIN GROUP (…)] [FILTER (…)] [OVER …]."""
        if self.at("IGNORE", "NULLS"):
            raise UnsupportedFeatureError("IGNORE NULLS")
        self.accept("RESPECT", "NULLS")
        if not self.at_any("WITHIN", "FILTER", "OVER"):
            return call
        within_group, condition = call.within_group, None
        over: OverWindow | str | None = None
        if self.accept("WITHIN"):
            self.expect("GROUP", "(")
            within_group = self.order_by() or self.reject()
            self.expect(")")
        if self.accept("FILTER"):
            self.expect("(", "WHERE")
            condition = self.expression()
            self.expect(")")
        if self.accept("OVER"):
            over = self.over_window() if self.at("(") else self.identifier()
        return Call(
            call.name,
            call.arguments,
            call.is_distinct,
            condition,
            over,
            call.argument_names,
            within_group,
            call.path,
            position=call.position,
        )

    # Forms of their own

    def time_unit(self) -> Symbol:
        """A unit of time: HOUR."""
        position, unit = self.position(), self.token.key
        if unit not in _POINT_UNITS and UNITS.get(unit) != unit:
            if not self.at_identifier():
                self.reject()
            token = self.advance()
            self.fail_to_mean(f"'{token.text}' is not a valid time frame", token)
        self.advance()
        return Symbol(unit.removeprefix("SQL_TSI_"), position=position)

    def _extract(self, name: str, position: Position) -> Call:
        unit = self.time_unit()
        self.expect("FROM")
        return Call(name, (unit, self.expression()), position=position)

    def _rounding(self, name: str, position: Position) -> Call:
        """FLOOR(a), FLOOR(t TO HOUR)."""
        operand = self.expression()
        unit = (self.time_unit(),) if self.accept("TO") else ()
        return Call("ceil" if name == "ceiling" else name, (operand, *unit), position=position)

    def _timestamp_arithmetic(self, name: str, position: Position) -> Call:
        unit = self.time_unit()
        self.expect(",")
        first = self.expression()
        self.expect(",")
        return Call(name, (unit, first, self.expression()), position=position)

    def _trim(self, name: str, position: Position) -> Call:
        side = self.accept_any("BOTH", "LEADING", "TRAILING")
        if side and self.accept("FROM"):
            return Call(name, (Symbol(side), string_literal(" "), self.expression()), position=position)
        first = self.expression()
        if self.accept("FROM"):
            return Call(name, (Symbol(side or "BOTH"), first, self.expression()), position=position)
        return Call(name, (Symbol(side), string_literal(" "), first) if side else (first,), position=position)

    def _substring(self, name: str, position: Position) -> Call:
        arguments = [self.expression()]
        self.expect_any("FROM", ",")
        arguments.append(self.expression())
        if self.accept_any("FOR", ","):
            arguments.append(self.expression())
        return Call(name, tuple(arguments), position=position)

    def _position(self, name: str, position: Position) -> Call:
        # IN binds the part to the whole here; it is not an operator.
        part = self.expression(33)
        self.expect("IN")
        whole = self.expression()
        start = (self.expression(),) if self.accept("FROM") else ()
        return Call(name, (part, whole, *start), position=position)

    def _overlay(self, name: str, position: Position) -> Call:
        arguments = [self.expression()]
        self.expect("PLACING")
        arguments.append(self.expression())
        self.expect("FROM")
        arguments.append(self.expression())
        if self.accept("FOR"):
            arguments.append(self.expression())
        return Call(name, tuple(arguments), position=position)

    # JSON

    def _json_value(self, name: str, position: Position) -> Call:
        plain = self._json_path()
        if self.at(")"):
            return Call(name, plain, position=position)
        returning = self._returning()
        behaviours: dict[str, tuple[Expression, Expression]] = {}
        while not self.at(")"):
            token = self.token
            word = self.expect_any("NULL", "ERROR", "DEFAULT")
            default = self.expression() if word == "DEFAULT" else word_literal("NULL")
            self.expect("ON")
            behaviours[self.expect_any("EMPTY", "ERROR")] = Symbol(word, position=self.position(token)), default
        nothing = Symbol("NULL"), word_literal("NULL")
        on_empty, on_error = behaviours.get("EMPTY", nothing), behaviours.get("ERROR", nothing)
        return Call(name, (*plain, returning, *on_empty, *on_error), position=position)

    def _json_query(self, name: str, position: Position) -> Call:
        plain = self._json_path()
        if self.at(")"):
            return Call(name, plain, position=position)
        returning, wrapper = self._returning(), self._wrapper()
        behaviours: dict[str, Expression] = {}
        while not self.at(")"):
            word = self.expect_any("NULL", "ERROR", "EMPTY")
            if word == "EMPTY":
                word = f"EMPTY {self.expect_any('ARRAY', 'OBJECT')}"
            self.expect("ON")
            behaviours[self.expect_any("EMPTY", "ERROR")] = Symbol(word)
        on_empty, on_error = behaviours.get("EMPTY", Symbol("NULL")), behaviours.get("ERROR", Symbol("NULL"))
        return Call(name, (*plain, returning, wrapper, on_empty, on_error), position=position)

    def _wrapper(self) -> Symbol:
        if self.accept("WITHOUT"):
            self.accept("ARRAY")
            self.expect("WRAPPER")
        elif self.accept("WITH"):
            kind = self.accept_any("CONDITIONAL", "UNCONDITIONAL") or "UNCONDITIONAL"
            self.accept("ARRAY")
            self.expect("WRAPPER")
            return Symbol(f"{kind} ARRAY")
        return Symbol("WITHOUT ARRAY")

    def _json_exists(self, name: str, position: Position) -> Call:
        plain = self._json_path()
        if self.at(")"):
            return Call(name, plain, position=position)
        word = self.expect_any("TRUE", "FALSE", "UNKNOWN", "ERROR")
        self.expect("ON", "ERROR")
        return Call(name, (*plain, Symbol(word)), position=position)

    def _json_path(self) -> tuple[Expression, Expression]:
        operand = self.expression()
        self.expect(",")
        return operand, self.expression()

    def _returning(self) -> TypeArgument:
        return TypeArgument(self.data_type() if self.accept("RETURNING") else _STRING)

    def _json_object(self, name: str, position: Position) -> Call:
        pairs: list[Expression] = []
        if not self.at(")") and not self._at_on_null():
            pairs += self._json_pair()
            while self.accept(","):
                pairs += self._json_pair()
        return Call(name, (self._on_null(name), *pairs), position=position)

    def _json_pair(self) -> tuple[Expression, Expression]:
        # KEY is a name too: JSON_OBJECT(key VALUE 1).
        if self.at("KEY") and self.ahead().key != "VALUE":
            self.advance()
        key = self.expression()
        self.expect_any("VALUE", ":")
        return key, self.expression()

    def _json_array(self, name: str, position: Position) -> Call:
        is_empty = self.at(")") or self._at_on_null()
        items = () if is_empty else self.expressions()
        return Call(name, (self._on_null(name), *items), position=position)

    def _json_object_aggregate(self, name: str, position: Position) -> Call:
        pair = self._json_pair()
        return Call(name, (self._on_null(name), *pair), position=position)

    def _json_array_aggregate(self, name: str, position: Position) -> Call:
        item, order_by = self.expression(), self.order_by()
        return Call(name, (self._on_null(name), item), within_group=order_by, position=position)

    def _at_on_null(self) -> bool:
        return self.at_any("NULL", "ABSENT") and self.ahead().key == "ON"

    def _on_null(self, name: str) -> Symbol:
        if not self._at_on_null():
            return Symbol("ABSENT" if name in _ABSENT_BY_DEFAULT else "NULL")
        word = self.expect_any("NULL", "ABSENT")
        self.expect("ON", "NULL")
        return Symbol(word)


_FORMS: dict[str, Callable[[CallGrammar, str, Position], Call]] = {
    "EXTRACT": CallGrammar._extract,
    "FLOOR": CallGrammar._rounding,
    "CEIL": CallGrammar._rounding,
    "CEILING": CallGrammar._rounding,
    "TIMESTAMPADD": CallGrammar._timestamp_arithmetic,
    "TIMESTAMPDIFF": CallGrammar._timestamp_arithmetic,
    "TRIM": CallGrammar._trim,
    "SUBSTRING": CallGrammar._substring,
    "POSITION": CallGrammar._position,
    "OVERLAY": CallGrammar._overlay,
    "JSON_VALUE": CallGrammar._json_value,
    "JSON_QUERY": CallGrammar._json_query,
    "JSON_EXISTS": CallGrammar._json_exists,
    "JSON_OBJECT": CallGrammar._json_object,
    "JSON_ARRAY": CallGrammar._json_array,
    "JSON_OBJECTAGG": CallGrammar._json_object_aggregate,
    "JSON_ARRAYAGG": CallGrammar._json_array_aggregate,
}
