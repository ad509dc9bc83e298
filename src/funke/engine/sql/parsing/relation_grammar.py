"""The grammar of FROM: tables, joins, table functions, windows, UNNEST and subqueries, with aliases and hints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NoReturn, get_args

from funke.engine.errors import SqlValidationError, UnsupportedFeatureError
from funke.engine.sql.parsing.pattern_grammar import PatternGrammar
from funke.engine.sql.syntax.expressions import Call, Expression, Name, ScalarQuery, TableArgument
from funke.engine.sql.syntax.position import Position
from funke.engine.sql.syntax.queries import (
    ChangelogFunction,
    Join,
    JoinKind,
    Lateral,
    Relation,
    SnapshotFunction,
    SubQuery,
    TableFunction,
    TableRef,
    Unnest,
    WindowFunction,
)
from funke.engine.sql.window_kinds import WINDOW_KINDS

__all__ = ["RelationGrammar"]

Hints = tuple[tuple[str, tuple[tuple[str, str], ...]], ...]

# Those of functions between changes and rows. They keep no state that the last one could name.
_CHANGELOG_ARGUMENTS = ("input", "op", "op_mapping", "uid")
_SNAPSHOT_ARGUMENTS = ("input", "on_time", "load_completed_time", "load_completed_idle_timeout", "state_ttl")


class RelationGrammar(PatternGrammar):
    """Reads what stands behind FROM."""

    def relation(self) -> Relation:
        """Tables with commas and joins between them; a comma binds less than a join."""
        left = self._joined()
        while self.at(","):
            left = Join("cross", left, self.behind(self.advance(), self._joined), position=left.position)
        return left

    def _joined(self) -> Relation:
        left = self._table()
        while self.at_any("JOIN", "INNER", "LEFT", "RIGHT", "FULL", "CROSS", "NATURAL"):
            left = self._join(left)
        return left

    def _join(self, left: Relation) -> Relation:
        first = self.position()
        is_natural = self.accept("NATURAL")
        natural = self.span(first) if is_natural else None
        token = self.token
        word = self.accept_any("INNER", "LEFT", "RIGHT", "FULL", "CROSS")
        if word in ("LEFT", "RIGHT", "FULL"):
            self.accept("OUTER")
        join = self.expect("JOIN") if word in (None, "CROSS") else self.behind(token, lambda: self.expect("JOIN"))
        kind: JoinKind = next((each for each in get_args(JoinKind) if each == (word or "").lower()), "inner")
        right = self.behind(join, self._table)
        word_of_condition = self.token
        said = self.accept_any("ON", "USING")
        condition = self.expression() if said == "ON" else None
        using = self.in_parentheses(self._placed_name) if said == "USING" else ()
        return Join(
            kind,
            left,
            right,
            condition,
            tuple(name for name, _ in using),
            is_natural,
            position=left.position,
            word_position=self.token_span(join),
            natural_position=natural,
            condition_word_position=None if said is None else self.token_span(word_of_condition),
            using_position=self.span(self.position(word_of_condition)) if said == "USING" else None,
            using_positions=tuple(each for _, each in using),
        )

    def _placed_name(self) -> tuple[str, Position]:
        position = self.position()
        return self.identifier(), self.span(position)

    # One table

    def _table(self) -> Relation:
        start = self.position()
        table = self._bare_table()
        if self.at("MATCH_RECOGNIZE"):
            table = self.match_recognize(table)
        if self.at_any("TABLESAMPLE", "PIVOT", "UNPIVOT"):
            raise UnsupportedFeatureError(f"{self.token.key} in SQL")
        name = self.alias()
        if name is None:
            return table
        placed = self.in_parentheses(self._placed_name) if self.at("(") else ()
        self._reject_same_names(placed)
        columns = tuple(name for name, _ in placed)
        position = placed[0][1].to(placed[-1][1].end or placed[-1][1]) if placed else None
        if isinstance(table, Join):
            self.fail_at(start, "Join expression encountered in illegal context")
        whole = self.span(start)
        table = replace(table, alias=name, column_aliases=columns, aliases_position=position, whole_position=whole)
        return self._matched(table) if self.at("MATCH_RECOGNIZE") else table

    @staticmethod
    def _reject_same_names(placed: Sequence[tuple[str, Position]]) -> None:
        names = [name for name, _ in placed]
        for index, (name, position) in enumerate(placed):
            if name in names[:index]:
                raise SqlValidationError(
                    f"SQL validation failed. {position.location}: Duplicate name '{name}' in column alias list"
                )

    def _matched(self, source: Relation) -> Relation:
        """A pattern over a table that has an alias already, with an alias of its own."""
        match, name = self.match_recognize(source), self.alias()
        return match if name is None else replace(match, alias=name)

    def alias(self) -> str | None:
        """[AS] name, if it comes next."""
        if self.accept("AS"):
            return self.identifier()
        return self.identifier() if self.at_identifier() else None

    def _bare_table(self) -> Relation:
        position = self.position()
        if self.accept("LATERAL"):
            return self._lateral()
        if self.at("TABLE"):
            return self._table_function(is_lateral=False)
        if self.at("UNNEST", "("):
            return self._unnest()
        if self.at("("):
            return self._in_parentheses()
        if self._at_call():
            return self._called(is_lateral=False)
        table = self.table_reference()
        if self.accept("FOR"):
            self.expect("SYSTEM_TIME", "AS", "OF")
            # What binds less than a sum may belong to the join's condition.
            table = replace(table, as_of=self.expression(33), position=position)
        return table

    def table_reference(self) -> TableRef:
        """A table by its path, with OPTIONS."""
        position = self.position()
        path = self.path()
        position = self.span(position)
        return TableRef(path, self.option_hints(), position=position)

    def _lateral(self) -> Relation:
        if self.at("TABLE"):
            return self._table_function(is_lateral=True)
        if self.at("UNNEST"):
            return self._unnest()
        if self.at("("):
            position = self.position()
            self.advance()
            query = self.query()
            self.expect(")")
            return Lateral(query, position=position)
        if self.at("SNAPSHOT", "("):
            return self._called(is_lateral=True)
        self.reject()

    def _unnest(self) -> Relation:
        position = self.position()
        self.expect("UNNEST", "(")
        operand = self.expression()
        self.expect(")")
        position = self.span(position)
        return Unnest(operand, self.accept("WITH", "ORDINALITY"), position=position)

    def _in_parentheses(self) -> Relation:
        """`(SELECT …)`, or tables with parentheses around them."""
        position = self.position()
        self.expect("(")
        # TABLE t is a query, TABLE (f(x)) a table function.
        if self.at_query() and not self.at("TABLE", "("):
            query = self.query()
            self.expect(")")
            return SubQuery(query, position=position)
        relation = self.relation()
        if isinstance(relation, TableRef):
            self.fail("Expected query or join", self.before())
        self.expect(")")
        return relation

    # Table functions

    def _table_function(self, is_lateral: bool) -> Relation:
        """`TABLE(f(x))`."""
        self.expect("TABLE", "(")
        function = self._called(is_lateral)
        self.expect(")")
        return function

    def _called(self, is_lateral: bool) -> Relation:
        position = self.position()
        call = self.call()
        if not isinstance(call, Call):
            self.fail("A table function is expected")
        if call.name in WINDOW_KINDS and call.arguments and not is_lateral:
            return self._window_function(call)
        if call.name in ("to_changelog", "from_changelog") and call.arguments and not is_lateral:
            return self._changelog_function(call)
        if call.name == "snapshot" and call.arguments:
            return self._snapshot_function(call, is_lateral)
        return TableFunction(call, is_lateral, position=position)

    def _snapshot_function(self, call: Call, is_lateral: bool) -> Relation:
        arguments = self._arguments_by_name(call, _SNAPSHOT_ARGUMENTS)
        source = None if arguments is None or "input" not in arguments else self._source_of(arguments["input"])
        if arguments is None or source is None:
            names, position = ", ".join(_SNAPSHOT_ARGUMENTS), call.position or self.position()
            self.fail_at(
                position, f"SNAPSHOT at {position} needs ({names}): TABLE t, DESCRIPTOR(column), a time, intervals."
            )
        on_time, completed, idle_timeout, ttl = (arguments.get(name) for name in _SNAPSHOT_ARGUMENTS[1:])
        return SnapshotFunction(
            source[0], on_time, completed, idle_timeout, ttl, source[1], is_lateral, position=call.position
        )

    def _window_function(self, call: Call) -> Relation:
        kind = WINDOW_KINDS[call.name]
        arguments = self._arguments_by_name(call, kind.arguments())
        if arguments is None:
            self._reject_window(call)
        table, column = arguments.pop("data", None), arguments.pop("timecol", None)
        offset = arguments.pop("offset", None)
        sizes = tuple(arguments[name] for name in kind.length_arguments if name in arguments)
        if table is None or column is None or len(sizes) < len(kind.length_arguments):
            self._reject_window(call)
        source, partition_by = self._window_source(call, table)
        return WindowFunction(
            kind,
            source,
            self._time_column(call, column),
            sizes,
            offset,
            partition_by,
            position=call.position,
        )

    @staticmethod
    def _arguments_by_name(call: Call, names: Sequence[str]) -> dict[str, Expression] | None:
        """Arguments with the names that they have or stand for; None if these are others, or the same again."""
        plain = len(call.arguments) - len(call.argument_names)
        argument_names = [*names[:plain], *(name.lower() for name in call.argument_names)]
        if (
            len(argument_names) != len(call.arguments)
            or not set(argument_names) <= set(names)
            or len(set(argument_names)) < len(argument_names)
        ):
            return None
        return dict(zip(argument_names, call.arguments))

    def _window_source(self, call: Call, table: Expression) -> tuple[Relation, tuple[Expression, ...]]:
        return self._source_of(table) or self._reject_window(call)

    @staticmethod
    def _source_of(table: Expression) -> tuple[Relation, tuple[Expression, ...]] | None:
        """The table that an argument is, and what it is partitioned by."""
        if isinstance(table, TableArgument):
            return table.table, table.partition_by
        if isinstance(table, ScalarQuery):
            return SubQuery(table.query, position=table.position), ()
        return None

    def _changelog_function(self, call: Call) -> Relation:
        arguments = self._arguments_by_name(call, _CHANGELOG_ARGUMENTS)
        source = None if arguments is None or "input" not in arguments else self._source_of(arguments["input"])
        if arguments is None or source is None:
            names, position = ", ".join(_CHANGELOG_ARGUMENTS), call.position or self.position()
            self.fail_at(
                position, f"{call.name.upper()} at {position} needs ({names}): TABLE t, DESCRIPTOR(column), MAP[…]."
            )
        return ChangelogFunction(
            call.name,  # type: ignore[arg-type]
            source[0],
            arguments.get("op"),
            arguments.get("op_mapping"),
            source[1],
            position=call.position,
        )

    def _time_column(self, call: Call, column: Expression) -> str:
        if isinstance(column, Call) and column.name == "descriptor" and len(column.arguments) == 1:
            (name,) = column.arguments
            if isinstance(name, Name):
                return name.parts[0]
        self._reject_window(call)

    def _reject_window(self, call: Call) -> NoReturn:
        names = ", ".join(name.upper() for name in WINDOW_KINDS[call.name].arguments())
        position = call.position or self.position()
        self.fail_at(
            position, f"{call.name.upper()} at {position} needs ({names}): TABLE t, DESCRIPTOR(column), intervals."
        )

    # Hints

    def option_hints(self) -> tuple[tuple[str, str], ...]:
        """`/*+ OPTIONS('key' = 'value') */`, if it comes next."""
        position = self.token
        hints = self.hints()
        if any(name != "OPTIONS" for name, _ in hints):
            self.fail(f"The hint {hints[0][0]} cannot stand behind a table", position)
        return tuple(option for _, options in hints for option in options)

    def hints(self) -> Hints:
        """`/*+ NAME('key' = 'value', …), … */`, if it comes next."""
        if not self.accept("/*+"):
            return ()
        items = [self._hint()]
        while not self.at("*/"):
            self.accept(",")
            items.append(self._hint())
        self.expect("*/")
        return tuple(items)

    def _hint(self) -> tuple[str, tuple[tuple[str, str], ...]]:
        name = self.identifier().upper()
        if not self.accept("("):
            return name, ()
        arguments = () if self.at(")") else self.separated(self._hint_argument)
        self.expect(")")
        return name, arguments

    def _hint_argument(self) -> tuple[str, str]:
        key = self._hint_value()
        return key, (self._hint_value() if self.accept("=") else "")

    def _hint_value(self) -> str:
        if self.token.kind in ("string", "number"):
            return self.advance().text
        return ".".join(self.path())
