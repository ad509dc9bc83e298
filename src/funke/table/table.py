"""Tables: what a query gives, as an object that further steps are taken from; nothing runs before `execute()`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from funke.engine.flink_exceptions import ValidationException
from funke.engine.sql.binding.column_sets import ColumnSets
from funke.engine.sql.binding.ordered_queries import limited
from funke.engine.sql.binding.relations import Column, Relation
from funke.engine.sql.binding.syntax_parts import parts_of
from funke.engine.sql.statements.tables.resolved_table import ResolvedTable
from funke.engine.sql.syntax import expressions as syntax
from funke.engine.sql.syntax import queries
from funke.engine.sql.syntax.windows import order_item
from funke.engine.types.logical import BooleanType, NullType, RowField, RowType, common_type, to_sql_text
from funke.passed_on_names import pass_on_names
from funke.table.expression import Expression
from funke.table.expression_members.call_arguments import named_arguments
from funke.table.expression_members.operators import QuerySource
from funke.table.expressions import col
from funke.table.flink_1.string_expressions import expression_of, expressions_of
from funke.table.grouped_tables import (
    AggregatedTable,
    FlatAggregateTable,
    GroupedTable,
    GroupWindowedTable,
    OverWindowedTable,
    WindowGroupedTable,
    with_aggregate_names,
)
from funke.table.results.described_table import DescribedTable
from funke.table.table_descriptor import TableDescriptor
from funke.table.table_pipeline import TablePipeline
from funke.table.table_result import TableResult
from funke.table.udf import (
    UserDefinedAggregateFunctionWrapper,
    UserDefinedFunctionWrapper,
    UserDefinedScalarFunctionWrapper,
    UserDefinedTableFunctionWrapper,
)
from funke.table.window import GroupWindow, OverWindow

if TYPE_CHECKING:
    import pandas

    from funke.table.table_environment import TableEnvironment

__all__ = ["GroupWindowedTable", "GroupedTable", "OverWindowedTable", "Table", "WindowGroupedTable"]

pass_on_names(__name__)


class Table(DescribedTable, QuerySource):
    """Rows with columns; every method gives another table.

    >>> from funke.table import EnvironmentSettings, TableEnvironment
    >>> from funke.table.expressions import col
    >>> t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    >>> orders = t_env.from_elements([("tea", 3), ("milk", 1)], ["item", "price"])
    >>> list(orders.where(col("price") > 2).select(col("item").upper_case, col("price") * 2).execute().collect())
    [<Row('TEA', 6)>]
    """

    def __init__(
        self,
        relation: Relation,
        t_env: TableEnvironment,
        declared: ResolvedTable | None = None,
        query: queries.Query | None = None,
    ) -> None:
        self._relation = relation
        # What made it, for plans that are stored; None for rows of the program.
        self._query = query
        # How the columns were declared, as long as they are those of a table of the catalog.
        self._declared = declared
        self._t_env = t_env
        self._path: str | None = None

    def __str__(self) -> str:
        """Give the table a name that queries can use, and return it."""
        if self._path is None:
            self._path = self._t_env._register_unnamed(self)
        return self._path

    def __getattr__(self, name: str) -> Expression[Any]:
        names = [each.name for each in self.__dict__["_relation"].columns] if "_relation" in self.__dict__ else []
        if name not in names:
            raise AttributeError(
                f"The current table has no column named '{name}', available columns: [{', '.join(names)}]"
            )
        return col(name)

    # Columns and rows

    def select(self, *fields: Expression[Any] | str) -> Table:
        """Compute columns."""
        return self._projected(self._sets().named(with_aggregate_names(self._expressions(fields), self._is_aggregate)))

    def alias(self, field: str, *fields: str) -> Table:
        """Rename columns, from the first on."""
        field_names = [*field.split(","), *fields] if isinstance(field, str) else [field, *fields]
        new = [each.strip() for each in field_names]
        columns = self._relation.columns
        if len(new) > len(columns):
            raise ValidationException("Aliasing more fields than we actually have.")
        if new == ["*"] or "*" in new:
            raise ValidationException("Alias can not accept '*' as name.")
        twice = next((name for index, name in enumerate(new) if name in new[:index]), None)
        if twice is not None:
            raise ValidationException(f"Ambiguous column name: {twice}")
        names = [*new, *(each.name for each in columns[len(new) :])]
        return self._projected(tuple(_renamed(each.name, name) for each, name in zip(columns, names)))

    def filter(self, predicate: Expression[bool] | str) -> Table:
        """Keep the rows for which a condition is true."""
        condition = self._sets().written_out(self._expression(predicate))
        data_type = self._type_of(condition)
        if not isinstance(data_type, (BooleanType, NullType)):
            raise ValidationException(
                "Filter operator requires a boolean expression as input, but $condition is of type "
                f"{to_sql_text(data_type)}"
            )
        return self._of_same_columns(queries.Select((syntax.Star(),), self._source(), condition))

    def where(self, predicate: Expression[bool] | str) -> Table:
        """Keep the rows for which a condition is true."""
        return self.filter(predicate)

    def add_columns(self, *fields: Expression[Any] | str) -> Table:
        """Add columns behind the others."""
        return self._projected(self._sets().named((syntax.Star(), *self._expressions(fields))))

    def add_or_replace_columns(self, *fields: Expression[Any] | str) -> Table:
        """Add columns; one with the name of an older one takes its place."""
        by_name = dict(self._sets().with_names(self._expressions(fields), len(self._relation.columns)))
        names = [each.name for each in self._relation.columns]
        kept = (by_name.pop(name, syntax.Name((name,))) for name in names)
        return self._projected((*kept, *by_name.values()))

    def rename_columns(self, *fields: Expression[Any] | str) -> Table:
        """Give columns other names: `col("a").alias("b")`."""
        new_names: dict[str, str] = {}
        for field in self._expressions(fields):
            if not isinstance(field, syntax.Alias) or not isinstance(field.operand, syntax.Name):
                raise ValidationException(
                    "Invalid alias for a renaming column operation. Renaming must add an alias to an existing field. "
                    f"E.g.: 'a as a1'. But was: {Expression(field)}"
                )
            self._require_column(field.operand.parts[0], "Rename field")
            new_names[field.operand.parts[0]] = field.names[0]
        names = [each.name for each in self._relation.columns]
        return self._projected(tuple(_renamed(name, new_names.get(name, name)) for name in names))

    def drop_columns(self, *fields: Expression[Any] | str) -> Table:
        """Leave columns out."""
        dropped: set[str] = set()
        for field in self._expressions(fields):
            if isinstance(field, syntax.Name):
                self._require_column(field.parts[0], "Field")
            dropped |= {
                each.parts[0] for each in self._sets().all_written_out([field]) if isinstance(each, syntax.Name)
            }
        kept = (each.name for each in self._relation.columns if each.name not in dropped)
        return self._projected(tuple(syntax.Name((name,)) for name in kept))

    # Groups and windows

    def group_by(self, *fields: Expression[Any] | str) -> GroupedTable:
        """Put rows that have something in common into groups."""
        return GroupedTable(self, tuple(self._sets().all_written_out(self._expressions(fields))))

    def distinct(self) -> Table:
        """Keep one of rows that are equal."""
        return self._of_same_columns(queries.Select((syntax.Star(),), self._source(), is_distinct=True))

    def window(self, window: GroupWindow) -> GroupWindowedTable:
        """Put rows into windows, whose alias `group_by` takes."""
        return GroupWindowedTable(self, window._window)

    def over_window(self, *over_windows: OverWindow) -> OverWindowedTable:
        """Define windows around each row, for `Expression.over`."""
        return OverWindowedTable(self, tuple((each._alias, each._window) for each in over_windows))

    # Two tables

    def join(self, right: Table, join_predicate: Expression[bool] | str | None = None) -> Table:
        """Put together rows of two tables for which a condition is true."""
        return self._joined("inner", right, join_predicate)

    def left_outer_join(self, right: Table, join_predicate: Expression[bool] | str | None = None) -> Table:
        """Join, and keep the rows of this table that have no partner."""
        return self._joined("left", right, join_predicate)

    def right_outer_join(self, right: Table, join_predicate: Expression[bool] | str) -> Table:
        """Join, and keep the rows of the other table that have no partner."""
        return self._joined("right", right, join_predicate)

    def full_outer_join(self, right: Table, join_predicate: Expression[bool] | str) -> Table:
        """Join, and keep the rows of both tables that have no partner."""
        return self._joined("full", right, join_predicate)

    def join_lateral(
        self,
        table_function_call: Expression[Any] | str | UserDefinedTableFunctionWrapper,
        join_predicate: Expression[bool] | str | None = None,
    ) -> Table:
        """Put each row together with the rows that a table function gives for it."""
        return self._with_function("inner", table_function_call, join_predicate)

    def left_outer_join_lateral(
        self,
        table_function_call: Expression[Any] | str | UserDefinedTableFunctionWrapper,
        join_predicate: Expression[bool] | str | None = None,
    ) -> Table:
        """The same; rows for which the function gives nothing stay, with NULLs."""
        return self._with_function("left", table_function_call, join_predicate)

    def minus(self, right: Table) -> Table:
        """Keep rows that the other table does not have, each once."""
        return self._combined("except", right, False, "minus")

    def minus_all(self, right: Table) -> Table:
        """Take away each row as often as the other table has it."""
        return self._combined("except", right, True, "minus")

    def union(self, right: Table) -> Table:
        """Put the rows of two tables together, each once."""
        return self._combined("union", right, False, "union")

    def union_all(self, right: Table) -> Table:
        """Put the rows of two tables together."""
        return self._combined("union", right, True, "union")

    def intersect(self, right: Table) -> Table:
        """Keep rows that both tables have, each once."""
        return self._combined("intersect", right, False, "intersect")

    def intersect_all(self, right: Table) -> Table:
        """Keep rows that both tables have, as often as both have them."""
        return self._combined("intersect", right, True, "intersect")

    # Order

    def order_by(self, *fields: Expression[Any] | str) -> Table:
        """Sort rows; in streaming only by time."""
        items = tuple(_sorted_by(each) for each in self._sets().all_written_out(self._expressions(fields)))
        return self._of_same_columns(queries.Select((syntax.Star(),), self._source(), order_by=items))

    def offset(self, offset: int) -> Table:
        """Leave out the first rows of a sorted table."""
        return self._limited(_offset(offset), None)

    def fetch(self, fetch: int) -> Table:
        """Keep the first rows."""
        return self._limited(0, _fetch(fetch))

    def limit(self, fetch: int, offset: int = 0) -> Table:
        """Keep the first rows behind some that are left out."""
        return self._limited(_offset(offset), _fetch(fetch))

    # Functions on rows

    def map(self, func: Expression[Any] | str | UserDefinedScalarFunctionWrapper) -> Table:
        """Replace each row by what a function gives for it: a row, whose fields become columns."""
        call, names = self._row_call(func)
        if not isinstance(call, syntax.Call) or self._t_env._session.find_aggregate(call) is not None:
            raise ValidationException("Only a scalar function can be used in the map operator.")
        data_type = self._type_of(call)
        if not isinstance(data_type, RowType):
            return self._projected((syntax.Alias(call, names[:1] or ("f0",)),))
        row = self._projected((syntax.Alias(call, ("row",)),))
        fields = tuple(syntax.Alias(syntax.Name(("row", each)), (each,)) for each in data_type.names)
        return row._projected(fields)._named_from(names)

    def flat_map(self, func: Expression[Any] | str | UserDefinedTableFunctionWrapper) -> Table:
        """Replace each row by the rows that a table function gives for it."""
        call, names = self._row_call(func)
        if not isinstance(call, syntax.Call) or self._t_env._session.find_table_function(call) is None:
            raise ValidationException("Only a table function can be used in the flatMap operator.")
        function = queries.TableFunction(call, column_aliases=names, alias=_FUNCTION)
        source = queries.Join("cross", self._source(), function)
        return self._bound(queries.Select((syntax.Star((_FUNCTION,)),), source))

    def aggregate(self, func: Expression[Any] | str | UserDefinedAggregateFunctionWrapper) -> AggregatedTable:
        """Combine all rows by an aggregate function whose result is a row."""
        return GroupedTable(self, ()).aggregate(func)

    def flat_aggregate(self, func: Expression[Any] | str | UserDefinedAggregateFunctionWrapper) -> FlatAggregateTable:
        """Combine all rows by a function that gives several rows."""
        return GroupedTable(self, ()).flat_aggregate(func)

    # Results

    def execute(self) -> TableResult:
        """Run the query; rows come with `collect()` or `print()`."""
        return self._t_env._execute_query(self._relation)

    def to_pandas(self) -> pandas.DataFrame:
        """Run the query and return all its rows as a DataFrame."""
        return self._t_env._to_pandas(self._relation)

    def execute_insert(self, table_path_or_descriptor: str | TableDescriptor, overwrite: bool = False) -> TableResult:
        """Write the rows to a table."""
        return self.insert_into(table_path_or_descriptor, overwrite).execute()

    def insert_into(self, table_path_or_descriptor: str | TableDescriptor, overwrite: bool = False) -> TablePipeline:
        """Say that the rows go to a table, for `execute()` or a StatementSet; or for that of the environment."""
        return self._t_env._pipeline(self, table_path_or_descriptor, overwrite)

    # Changes

    def to_changelog(self, *arguments: Expression[Any]) -> Table:
        """Make each change a row that is added, whose first column says what it was: INSERT, UPDATE_BEFORE ….

        Arguments may be named: `descriptor("code").as_argument("op")` is another name of that column, and
        `map_("INSERT", "i", "DELETE", "d").as_argument("op_mapping")` says how changes are called; others are dropped.
        """
        return self._changelog("to_changelog", arguments)

    def from_changelog(self, *arguments: Expression[Any]) -> Table:
        """Make each row the change that one of its columns says; arguments are those of `to_changelog`.

        In `op_mapping` the codes come first, with commas between them: `map_("c, r", "INSERT", …)`.
        """
        return self._changelog("from_changelog", arguments)

    def _expressions(self, values: Iterable[Any]) -> tuple[syntax.Expression, ...]:
        return expressions_of(values, self._is_user_function)

    def _expression(self, value: Any) -> syntax.Expression:
        return expression_of(value, self._is_user_function)

    def _is_user_function(self, name: str) -> bool:
        """Whether a function goes before a built-in one of its name."""
        return self._t_env._session.functions.find_system(name) is not None

    def _is_aggregate(self, call: syntax.Call) -> bool:
        return self._t_env._session.find_aggregate(call) is not None

    def _to_query(self) -> queries.Query:
        return queries.Select((syntax.Star(),), self._source())

    def _source(self) -> queries.Relation:
        return queries.InlineTable(self._relation, self._query)

    def _sets(self, other_names: frozenset[str] = frozenset()) -> ColumnSets:
        return ColumnSets(self._relation.columns, self._type_of, other_names, self._is_user_function)

    def _type_of(self, expression: syntax.Expression) -> Any:
        return self._t_env._session.expression_type(expression, self._relation.columns)

    def _projected(self, items: tuple[syntax.Expression, ...]) -> Table:
        return self._bound(queries.Select(items, self._source()))

    def _bound(self, query: queries.Query) -> Table:
        return Table(self._t_env._session.bind(query), self._t_env, query=query)

    def _of_same_columns(self, query: queries.Query) -> Table:
        return Table(self._t_env._session.bind(query), self._t_env, self._declared, query)

    def _limited(self, offset: int, limit: int | None) -> Table:
        return Table(limited(self._relation, offset, limit), self._t_env, self._declared)

    def _changelog(
        self, kind: Literal["to_changelog", "from_changelog"], arguments: tuple[Expression[Any], ...]
    ) -> Table:
        values, names = named_arguments(arguments)
        by_name = dict(zip((*("op", "op_mapping")[: len(values) - len(names)], *names), values))
        if len(by_name) < len(values) or not by_name.keys() <= {"op", "op_mapping", "uid"}:
            raise ValidationException(f"{kind}() takes the arguments op, op_mapping and uid, each of them once")
        function = queries.ChangelogFunction(kind, self._source(), by_name.get("op"), by_name.get("op_mapping"))
        return self._bound(queries.Select((syntax.Star(),), function))

    def _named_from(self, names: tuple[str, ...]) -> Table:
        return self.alias(*names) if names else self

    def _require_column(self, name: str, what: str) -> None:
        if name not in [each.name for each in self._relation.columns]:
            raise ValidationException(f"{what} {name} does not exist in source table")

    def _joined(self, kind: queries.JoinKind, right: Table, predicate: Expression[bool] | str | None) -> Table:
        columns = (*self._relation.columns, *right._relation.columns)
        _reject_ambiguous(self._relation.columns, right._relation.columns, predicate is not None)
        condition = None
        if predicate is not None:
            condition = ColumnSets(columns, self._type_of, is_user_function=self._is_user_function).written_out(
                self._expression(predicate)
            )
            self._check_join(condition, right)
        elif kind in ("right", "full"):
            raise ValidationException(f"a {kind} outer join needs a condition")
        joined_kind: queries.JoinKind = "cross" if condition is None and kind == "inner" else kind
        source = queries.Join(joined_kind, self._source(), right._source(), condition)
        return self._bound(queries.Select((syntax.Star(),), source))

    def _check_join(self, condition: syntax.Expression, right: Table) -> None:
        """Unlike SQL, tables are joined by two columns that are equal, or by TRUE."""
        text = str(Expression(condition))
        sides = [{each.name for each in table._relation.columns} for table in (self, right)]
        is_true = isinstance(condition, syntax.Literal) and condition.value is True
        calls = [each for each in parts_of(condition) if isinstance(each, syntax.Call)]
        if not any(map(self._is_aggregate, calls)):
            columns = (*self._relation.columns, *right._relation.columns)
            data_type = self._t_env._session.expression_type(condition, columns)
            if not isinstance(data_type, (BooleanType, NullType)):
                raise ValidationException(
                    f"Filter operator requires a boolean expression as input, but {text} is of type "
                    f"{to_sql_text(data_type)}"
                )
        if not is_true and not _has_equal_columns(condition, *sides):
            raise ValidationException(f"Invalid join condition: {text}. At least one equi-join predicate is required.")

    def _with_function(self, kind: queries.JoinKind, function: Any, predicate: Expression[bool] | str | None) -> Table:
        if isinstance(function, UserDefinedFunctionWrapper) and not function._alias_names:
            raise AttributeError(
                'table_function_call must be followed by a alias function, e.g. table_function.alias("a", "b")'
            )
        call, names = self._row_call(function)
        if not isinstance(call, syntax.Call):
            raise ValidationException(
                "A lateral join only accepts an expression which defines a table function call that might be "
                "followed by some alias."
            )
        condition = None if predicate is None else self._expression(predicate)
        lateral = queries.TableFunction(call, column_aliases=names)
        source = queries.Join(
            "cross" if kind == "inner" and condition is None else kind, self._source(), lateral, condition
        )
        return self._bound(queries.Select((syntax.Star(),), source))

    def _combined(self, kind: queries.SetKind, right: Table, is_all: bool, name: str) -> Table:
        mine, others = self._relation.columns, right._relation.columns
        if len(mine) != len(others):
            raise ValidationException(
                f"The {name} operation on two tables of different column sizes: {len(mine)} and {len(others)} is not "
                "supported"
            )
        for index, (one, other) in enumerate(zip(mine, others)):
            if common_type([one.type, other.type]) is None:
                raise ValidationException(
                    f"Incompatible types for {name} operation. Could not find a common type at position {index} for "
                    f"'{to_sql_text(one.type)}' and '{to_sql_text(other.type)}'."
                )
        return self._bound(queries.SetOperation(kind, self._to_query(), right._to_query(), is_all))

    def _whole_row(self) -> syntax.Expression:
        """All columns as one value, whose fields have their names."""
        columns = self._relation.columns
        row = syntax.Call("row", tuple(syntax.Name((each.name,)) for each in columns))
        row_type = RowType([RowField(each.name, each.type) for each in columns], False)
        return syntax.Cast(row, row_type)

    def _row_call(self, func: Any) -> tuple[syntax.Expression, tuple[str, ...]]:
        """A call on rows: of given columns, or of the whole row if the function itself was given."""
        names: tuple[str, ...] = ()
        if isinstance(func, UserDefinedFunctionWrapper):
            names = func._alias_names
            func = func._on_row(self._whole_row())
        expression = self._expression(func)
        if isinstance(expression, syntax.Alias):
            names, expression = expression.names, expression.operand
        return self._sets().written_out(expression), names


_FUNCTION = "\x00function"


def _renamed(name: str, new_name: str) -> syntax.Expression:
    column = syntax.Name((name,))
    return column if name == new_name else syntax.Alias(column, (new_name,))


def _sorted_by(expression: syntax.Expression) -> syntax.OrderItem:
    """What rows are sorted by; unlike in SQL, NULLs are the greatest values."""
    item = order_item(expression)
    return replace(item, nulls_first=not item.is_ascending)


def _offset(number: int) -> int:
    if number < 0:
        raise ValidationException("Offset should be greater or equal 0")
    return number


def _fetch(number: int) -> int:
    if number < 0:
        raise ValidationException("FETCH count must be equal or larger than 0.")
    return number


def _has_equal_columns(condition: syntax.Expression, left: set[str], right: set[str]) -> bool:
    """Whether a column of one side must be equal to one of the other."""
    if not isinstance(condition, syntax.Call):
        return False
    if condition.name == "and":
        return any(_has_equal_columns(each, left, right) for each in condition.arguments)
    names = [each.parts[0] for each in condition.arguments if isinstance(each, syntax.Name)]
    if condition.name != "=" or len(names) != 2:
        return False
    one, other = names
    return (one in left and other in right) or (one in right and other in left)


def _reject_ambiguous(left: tuple[Column, ...], right: tuple[Column, ...], has_condition: bool) -> None:
    twice = [each.name for each in left if each.name in {other.name for other in right}]
    if twice and has_condition:
        raise ValidationException(f"Ambiguous column name: {twice[0]}")
    if twice:
        raise ValidationException(f"join relations with ambiguous names: [{', '.join(twice)}]")
