"""Expressions: operators by precedence, names, constants, CASE, subqueries and calls.

The precedences are Calcite's, which are Flink's; an operator of a higher one binds its operands more tightly.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from funke.engine.errors import SqlParserError
from funke.engine.sql.parsing.interval_literals import to_interval, to_interval_type
from funke.engine.sql.parsing.literals import (
    bytes_literal,
    number_literal,
    string_literal,
    time_literal,
    unescape_unicode,
    word_literal,
)
from funke.engine.sql.parsing.reserved_words import RESERVED_WORDS
from funke.engine.sql.parsing.tokens import Token
from funke.engine.sql.parsing.type_grammar import TypeGrammar
from funke.engine.sql.syntax.expressions import (
    Call,
    Case,
    Cast,
    Exists,
    Expression,
    InQuery,
    Literal,
    Name,
    OrderItem,
    OverWindow,
    ScalarQuery,
    TypeArgument,
    WindowBound,
)
from funke.engine.sql.syntax.position import Position
from funke.engine.sql.syntax.queries import Query

__all__ = ["ExpressionGrammar"]

_NOT, _IS, _COMPARISON, _RANGE, _SUM, _PRODUCT, _SIGN = 26, 28, 30, 32, 40, 60, 80
_QUERY_WORDS = ("SELECT", "WITH", "VALUES", "TABLE")
_WITH_PARENTHESIS = ("CAST", "TRY_CAST", "ROW")
# Reserved words, so that no name can be meant.
_INTERVAL_UNITS = ("YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND")
_TRUTHS = ("NULL", "TRUE", "FALSE", "UNKNOWN")


class ExpressionGrammar(TypeGrammar):
    """Reads expressions; queries inside them are read by the grammar that is built on this one."""

    def query(self) -> Query:
        """A query with all that may follow it."""
        raise NotImplementedError

    def call(self) -> Expression:
        """A call of a function, or another form that starts with a word and a parenthesis."""
        raise NotImplementedError

    def expression(self, minimum: int = 0) -> Expression:
        """Operands with operators between them that bind at least as tightly as `minimum`."""
        left = self._operand()
        while (binding := _INFIX.get(self.token.key)) is not None:
            precedence, read = binding
            if precedence < minimum:
                break
            left = self._infix(read, left, precedence)
        return left

    def expressions(self) -> tuple[Expression, ...]:
        """One or more expressions with commas between."""
        return self.separated(self.expression)

    # Operators

    def _infix(self, read: _Read, left: Expression, precedence: int) -> Expression:
        operator, following = self.token, self.ahead()
        try:
            return self._whole(read(self, left, precedence))
        except SqlParserError:
            if self.token is following:
                self.reject_pair(operator, following)
            raise

    def _whole(self, expression: Expression) -> Expression:
        """An expression that ends with the token that was taken last."""
        return (
            expression if expression.position is None else replace(expression, position=self.span(expression.position))
        )

    def _operand(self) -> Expression:
        key = self.token.key
        # NOT binds less than a comparison and more than AND: NOT a = b AND c is (NOT (a = b)) AND c.
        if key == "NOT":
            position = self.position()
            self.advance()
            return self._whole(Call("not", (self.expression(_NOT),), position=position))
        if key in ("-", "+"):
            position = self.position()
            self.advance()
            return self._whole(_signed(key, self.expression(_SIGN), position))
        operand = self._primary()
        if operand.position is not None and operand.position.end is None:
            # What stands in parentheses has its end already.
            operand = self._whole(operand)
        return self._with_parts(operand) if self.at_any("[", ".") else operand

    def _with_parts(self, operand: Expression) -> Expression:
        """`a[1]`, `f(x).b`: an element of a collection or a field of a row."""
        while True:
            if self.accept("["):
                operand = Call("at", (operand, self.expression()), position=operand.position)
                self.expect("]")
                operand = self._whole(operand)
            elif self.accept("."):
                position = self.position()
                operand = Call("get", (operand, string_literal(self.identifier(), position)), position=operand.position)
                operand = self._whole(operand)
            else:
                return operand

    def _binary(self, left: Expression, precedence: int) -> Expression:
        token = self.advance()
        name = token.key.lower()
        if name == "!=":
            self.fail("Bang equal '!=' is not allowed under the current SQL conformance level; use '<>'", token)
        if precedence == _COMPARISON and self.at_any("SOME", "ANY", "ALL") and self.ahead().key == "(":
            return self._some_or_all(left, name)
        # The right operand binds more tightly than the operator itself, so a - b - c is (a - b) - c.
        return Call(name, (left, self.expression(precedence + 1)), position=left.position)

    def _some_or_all(self, left: Expression, comparison: str) -> Expression:
        """`> SOME (SELECT …)`, or values instead of the query."""
        is_all = self.advance().key == "ALL"
        position = self.position()
        self.expect("(")
        if self.at_query():
            query = ScalarQuery(self._inner_query(), position=position)
            self.expect(")")
            return Call(f"{comparison} {'all' if is_all else 'some'}", (left, query), position=left.position)
        items = self.expressions()
        self.expect(")")
        comparisons: list[Expression] = [Call(comparison, (left, each), position=left.position) for each in items]
        return (
            comparisons[0]
            if len(comparisons) == 1
            else Call("and" if is_all else "or", tuple(comparisons), position=left.position)
        )

    def _inner_query(self) -> Query:
        """A query in parentheses, from its first to its last word."""
        position = self.position()
        query = self.query()
        return replace(query, position=self.span(position))

    def _is(self, left: Expression, _precedence: int) -> Expression:
        self.expect("IS")
        name = "is not" if self.accept("NOT") else "is"
        if self.accept("DISTINCT", "FROM"):
            return Call(f"{name} distinct from", (left, self.expression(_COMPARISON + 1)), position=left.position)
        if self.accept("JSON"):
            kind = self.accept_any("VALUE", "OBJECT", "ARRAY", "SCALAR")
            return Call(f"{name} json {(kind or 'VALUE').lower()}", (left,), position=left.position)
        if self.accept("A"):
            self.expect("SET")
            return Call(f"{name} a set", (left,), position=left.position)
        word = self.expect_any(*_TRUTHS, "EMPTY")
        return Call(f"{name} {word.lower()}", (left,), position=left.position)

    def _range(self, left: Expression, _precedence: int) -> Expression:
        """[NOT] BETWEEN, IN, LIKE, ILIKE, RLIKE, SIMILAR TO."""
        negation = "not " if self.accept("NOT") else ""
        if self.accept("BETWEEN"):
            return self._between(left, negation)
        if self.accept("IN"):
            return self._in(left, negation)
        if self.accept("SIMILAR"):
            self.expect("TO")
            return self._like(left, f"{negation}similar to")
        word = self.expect_any("LIKE", "ILIKE", "RLIKE")
        return self._like(left, f"{negation}{word.lower()}")

    def _between(self, left: Expression, negation: str) -> Expression:
        kind = self.accept_any("SYMMETRIC", "ASYMMETRIC")
        name = f"{negation}between symmetric" if kind == "SYMMETRIC" else f"{negation}between"
        # The bounds bind more tightly than AND, so the AND behind the first one belongs to BETWEEN.
        lower = self.expression(_RANGE + 1)
        if not self.accept("AND"):
            self.fail_at(self.position(), "BETWEEN operator has no terminating AND")
        return Call(name, (left, lower, self.expression(_RANGE + 1)), position=left.position)

    def _in(self, left: Expression, negation: str) -> Expression:
        self.expect("(")
        if self.at_query():
            query = self._inner_query()
            self.expect(")")
            return InQuery(left, query, bool(negation), position=left.position)
        items = self.expressions()
        self.expect(")")
        return Call(f"{negation}in", (left, *items), position=left.position)

    def _like(self, left: Expression, name: str) -> Expression:
        pattern = self.expression(_RANGE + 1)
        escape = (self.expression(_RANGE + 1),) if self.accept("ESCAPE") else ()
        return Call(name, (left, pattern, *escape), position=left.position)

    def _overlaps(self, left: Expression, precedence: int) -> Expression:
        token = self.expect("OVERLAPS")
        right = self.expression(precedence + 1)
        pairs = [each.arguments for each in (left, right) if isinstance(each, Call) and each.name == "row"]
        if [len(each) for each in pairs] != [2, 2]:
            self.fail("OVERLAPS needs a pair on either side", token)
        return Call("overlaps", (*pairs[0], *pairs[1]), position=left.position)

    # Operands

    def at_query(self) -> bool:
        """Tell whether a query comes next; one in parentheses only if all that follows it belongs to it."""
        return self.starts_query() and (self.token.key != "(" or self._reads_as_query())

    def starts_query(self) -> bool:
        """Tell whether the first word, maybe behind parentheses, starts a query."""
        distance = 0
        while self.ahead(distance).key == "(":
            distance += 1
        return self.ahead(distance).key in _QUERY_WORDS

    def _reads_as_query(self) -> bool:
        # `((SELECT 1) + 2)` begins like a query and is an expression, which only reading on can tell. The cursor goes
        # back then.
        start = self._index
        try:
            self.query()
        except SqlParserError:
            return False
        else:
            return self.at_any(")", ",")
        finally:
            self._index, self.token = start, self._tokens[start]

    def _primary(self) -> Expression:
        token = self.token
        if token.kind == "word":
            return self._word()
        if token.kind == "quoted":
            return self._name_or_call()
        if token.kind == "number":
            self.advance()
            return number_literal(token.text, self.position(token)) or self.fail_to_mean(
                f"Numeric literal '{token.text}' out of range", token
            )
        if token.kind == "operator":
            return self._parentheses() if token.key == "(" else self.reject()
        return self._quoted_constant()

    def _quoted_constant(self) -> Literal:
        token = self.token
        position = self.position()
        if token.kind == "string":
            return string_literal(self._joined_strings(), position)
        if token.kind == "bytes":
            self.advance()
            return bytes_literal(token.text, position) or self.fail_to_mean(
                "Binary literal string must contain an even number of hexits", token
            )
        if token.kind == "unicode":
            self.advance()
            escape = self.string() if self.accept("UESCAPE") else "\\"
            text = unescape_unicode(token.text, escape)
            return (
                self.fail("Unicode escape sequence is malformed", token)
                if text is None
                else string_literal(text, position)
            )
        self.reject()

    def _joined_strings(self) -> str:
        """Strings that follow each other are one."""
        text = self.string()
        while self.token.kind == "string":
            text += self.string()
        return text

    def _parentheses(self) -> Expression:
        """`(SELECT …)`, `(a)`, or a row `(a, b)`."""
        position = self.position()
        self.expect("(")
        if self.at_query():
            query = self._inner_query()
            self.expect(")")
            return ScalarQuery(query, position=position)
        items = self.expressions()
        self.expect(")")
        if len(items) > 1:
            return Call("row", items, position=position)
        return self._interval_between(items[0], position) if self.at_any(*_INTERVAL_UNITS) else items[0]

    def _interval_between(self, difference: Expression, position: Position) -> Expression:
        """`(end - start) DAY TO SECOND`."""
        token = self.token
        units = self.interval_units()
        if not isinstance(difference, Call) or difference.name != "-" or len(difference.arguments) != 2:
            self.fail('Illegal expression. Was expecting "(DATETIME - DATETIME) INTERVALQUALIFIER"', token)
        interval = TypeArgument(to_interval_type(units), position=self.position(token))
        return Call("interval between", (*difference.arguments, interval), position=self.span(position))

    def _word(self) -> Expression:
        token = self.token
        read = _WORDS.get(token.key)
        if read is not None:
            if token.key in _WITH_PARENTHESIS and self.ahead().key != "(":
                self.reject_pair(token, self.ahead())
            return read(self)
        if token.key in ("DATE", "TIME", "TIMESTAMP") and self.ahead().kind == "string":
            return self._time_constant()
        return self._name_or_call()

    def _name_or_call(self) -> Expression:
        if self.token.key in RESERVED_WORDS or self._at_call():
            return self.call()
        position = self.position()
        parts, positions = [self.identifier()], [self.span(position)]
        while self.token.key == "." and self.ahead().key != "*":
            parts.append(self.behind(self.advance(), self.identifier))
            positions.append(self.span(self.position(self.before())))
        return Name(tuple(parts), position=position, positions=tuple(positions))

    def _at_call(self) -> bool:
        distance = 1
        while self.ahead(distance).key == ".":
            distance += 2
        return self.ahead(distance).key == "("

    def _truth(self) -> Expression:
        position = self.position()
        return word_literal(self.advance().key, position)

    def _time_constant(self) -> Expression:
        token = self.advance()
        literal = time_literal(token.key, self.string(), self.position(token))
        return self.fail_to_mean(literal, token) if isinstance(literal, str) else literal

    def _interval(self) -> Expression:
        token = self.expect("INTERVAL")
        if self.token.kind in ("number", "word", "quoted"):
            return self._counted_interval(token)
        sign = -1 if self.accept("-") else 1
        self.accept("+")
        text = self.string()
        units = self.interval_units()
        value = to_interval(text, units)
        if value is None:
            self.fail_to_mean(f"Illegal interval literal format '{text}' for INTERVAL {units}", token)
        return Literal(sign * value, to_interval_type(units, False), position=self.position(token))

    def _counted_interval(self, token: Token) -> Expression:
        """INTERVAL a DAY: so many times one day."""
        count = self._with_parts(self._primary())
        units = self.interval_units()
        if units.last is not None:
            self.fail(f"An interval of {units} is written as a text", token)
        position = self.position(token)
        unit = Literal(to_interval("1", units), to_interval_type(units, False), position=position)
        return Call("*", (count, unit), position=position)

    def _case(self) -> Expression:
        position = self.position()
        self.expect("CASE")
        operand = None if self.at("WHEN") else self.expression()
        branches: list[tuple[Expression, Expression]] = []
        while not branches or self.at("WHEN"):
            self.expect("WHEN")
            conditions = self.expressions() if operand is not None else (self.expression(),)
            self.expect("THEN")
            result = self.expression()
            # CASE a WHEN 1, 2 THEN b: each value is a branch with the same result.
            branches += [(condition, result) for condition in conditions]
        otherwise = self.expression() if self.accept("ELSE") else None
        self.expect("END")
        return Case(operand, tuple(branches), otherwise, position=position)

    def _cast(self) -> Expression:
        position = self.position()
        is_safe = self.advance().key == "TRY_CAST"
        self.expect("(")
        operand = self.expression()
        self.expect("AS")
        # As in Flink a cast names no nullability: CAST(a AS INT NOT NULL) is an error.
        target = self.data_type(has_nulls=False)
        self.expect(")")
        return Cast(operand, target, is_safe, position=position)

    def _exists(self) -> Expression:
        position = self.position()
        self.expect("EXISTS", "(")
        query = self.query()
        self.expect(")")
        return Exists(query, position=position)

    def _row(self) -> Expression:
        position = self.position()
        self.expect("ROW", "(")
        items = self.expressions()
        self.expect(")")
        return Call("row", items, position=position)

    def _collection(self) -> Expression:
        """`ARRAY[1, 2]`, `MAP['a', 1]`, `MULTISET[1]`, `ARRAY(SELECT …)`."""
        position = self.position()
        name = self.advance().key.lower()
        if self.accept("("):
            query = ScalarQuery(self.query(), position=position)
            self.expect(")")
            return Call(f"{name} query", (query,), position=position)
        self.expect("[")
        items = () if self.at("]") else self.expressions()
        self.expect("]")
        return Call(name, items, position=position)

    # Order and windows

    def order_by(self) -> tuple[OrderItem, ...]:
        """ORDER BY … if it comes next."""
        if not self.accept("ORDER"):
            return ()
        self.expect("BY")
        return self.separated(self.order_item)

    def order_item(self) -> OrderItem:
        """An expression with its direction."""
        operand = self.expression()
        is_ascending = self.accept_any("ASC", "DESC") != "DESC"
        nulls_first = None
        if self.accept("NULLS"):
            nulls_first = self.expect_any("FIRST", "LAST") == "FIRST"
        return OrderItem(operand, is_ascending, nulls_first, position=operand.position)

    def partition_by(self) -> tuple[Expression, ...]:
        """PARTITION BY … if it comes next."""
        if not self.accept("PARTITION"):
            return ()
        self.expect("BY")
        return self.expressions()

    def over_window(self) -> OverWindow:
        """(PARTITION BY … ORDER BY … ROWS …)."""
        self.expect("(")
        base = self.identifier() if self.at_identifier() else None
        partition_by, order_by = self.partition_by(), self.order_by()
        unit = self.accept_any("ROWS", "RANGE")
        lower, upper = self._frame() if unit else (None, None)
        self.expect(")")
        return OverWindow(partition_by, order_by, unit == "ROWS", lower, upper, base)

    def _frame(self) -> tuple[WindowBound, WindowBound]:
        if self.accept("BETWEEN"):
            lower = self._bound()
            self.expect("AND")
            return lower, self._bound()
        # ROWS 2 PRECEDING ends at the current row.
        return self._bound(), WindowBound(distance=number_literal("0"))

    def _bound(self) -> WindowBound:
        if self.accept("CURRENT", "ROW"):
            return WindowBound(distance=number_literal("0"))
        distance = None if self.accept("UNBOUNDED") else self.expression(_RANGE + 1)
        return WindowBound(self.expect_any("PRECEDING", "FOLLOWING") == "PRECEDING", distance)


def _signed(sign: str, operand: Expression, position: Position) -> Expression:
    """A sign before an operand; the lowest integer is a constant, though its opposite is none of that type."""
    if sign == "-" and isinstance(operand, Literal) and operand.value in (2**31, 2**63):
        lowest = number_literal(str(operand.value - 1))
        assert lowest is not None
        return replace(lowest, value=-int(operand.value), position=position)
    return Call(sign, (operand,), position=position)


_Read = Callable[[ExpressionGrammar, Expression, int], Expression]
_INFIX: dict[str, tuple[int, _Read]] = {
    "OR": (22, ExpressionGrammar._binary),
    "AND": (24, ExpressionGrammar._binary),
    "IS": (_IS, ExpressionGrammar._is),
    **{key: (_COMPARISON, ExpressionGrammar._binary) for key in ("=", "<>", "!=", "<", "<=", ">", ">=")},
    "OVERLAPS": (_COMPARISON, ExpressionGrammar._overlaps),
    **{
        key: (_RANGE, ExpressionGrammar._range) for key in ("NOT", "BETWEEN", "IN", "LIKE", "ILIKE", "RLIKE", "SIMILAR")
    },
    **{key: (_SUM, ExpressionGrammar._binary) for key in ("+", "-")},
    **{key: (_PRODUCT, ExpressionGrammar._binary) for key in ("*", "/", "%", "||")},
}
_WORDS: dict[str, Callable[[ExpressionGrammar], Expression]] = {
    **dict.fromkeys(_TRUTHS, ExpressionGrammar._truth),
    "CASE": ExpressionGrammar._case,
    "CAST": ExpressionGrammar._cast,
    "TRY_CAST": ExpressionGrammar._cast,
    "EXISTS": ExpressionGrammar._exists,
    "INTERVAL": ExpressionGrammar._interval,
    "ROW": ExpressionGrammar._row,
    "ARRAY": ExpressionGrammar._collection,
    "MAP": ExpressionGrammar._collection,
    "MULTISET": ExpressionGrammar._collection,
}
