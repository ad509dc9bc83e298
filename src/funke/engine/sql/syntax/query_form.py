"""Queries of the Table API as SQL, for plans that are stored as statements."""

from __future__ import annotations

from funke.engine.errors import UnsupportedFeatureError
from funke.engine.sql.syntax import queries
from funke.engine.sql.syntax.expressions import OrderItem, Star
from funke.engine.sql.syntax.sql_form import sql_form
from funke.engine.types.logical.sql_text import quoted

__all__ = ["query_form"]


def query_form(query: queries.Query) -> str:
    """Return a query as SQL; what has no such form is rejected.

    >>> from funke.engine.sql.parsing import parse
    >>> (statement,) = parse("select a, sum(b) as s from (select * from t where b > 1) group by a")
    >>> query_form(statement.query)
    'SELECT `a`, SUM(`b`) AS `s` FROM (SELECT * FROM `t` WHERE `b` > 1) GROUP BY `a`'
    """
    if isinstance(query, queries.SetOperation) and not query.order_by and query.limit is None and not query.offset:
        kind = f"{query.kind.upper()}{' ALL' if query.is_all else ''}"
        return f"({query_form(query.left)}) {kind} ({query_form(query.right)})"
    if isinstance(query, queries.Select) and query.source is not None:
        return _select_form(query, query.source)
    raise _rejection(f"{type(query).__name__}")


def _select_form(select: queries.Select, source: queries.Relation) -> str:
    if select.windows or select.hints or select.qualify is not None:
        raise _rejection("OVER windows and hints")
    parts = ["SELECT DISTINCT" if select.is_distinct else "SELECT"]
    parts += [", ".join(map(sql_form, select.items)), "FROM", _source_form(source)]
    if select.where is not None:
        parts += ["WHERE", sql_form(select.where)]
    if select.group_by is not None:
        if len(select.group_by.sets) != 1:
            raise _rejection("GROUPING SETS")
        parts += ["GROUP BY", ", ".join(map(sql_form, select.group_by.sets[0]))]
    if select.having is not None:
        parts += ["HAVING", sql_form(select.having)]
    if select.order_by:
        parts += ["ORDER BY", ", ".join(map(_order_form, select.order_by))]
    if select.limit is not None:
        parts += [f"LIMIT {select.limit}"]
    if select.offset:
        parts += [f"OFFSET {select.offset}"]
    return " ".join(parts)


def _order_form(item: OrderItem) -> str:
    nulls = "" if item.nulls_first is None else f" NULLS {'FIRST' if item.nulls_first else 'LAST'}"
    return f"{sql_form(item.operand)} {'ASC' if item.is_ascending else 'DESC'}{nulls}"


def _source_form(source: queries.Relation) -> str:
    if source.column_aliases:
        raise _rejection("a table whose columns are renamed")
    if isinstance(source, queries.TableRef) and not source.options and source.as_of is None:
        text = ".".join(map(quoted, source.path))
    elif isinstance(source, queries.SubQuery):
        text = f"({query_form(source.query)})"
    elif isinstance(source, queries.InlineTable) and source.query is not None:
        text = _inline_form(source.query)
    else:
        raise _rejection("rows of the program, or of a function,")
    return text if source.alias is None else f"{text} AS {quoted(source.alias)}"


def _inline_form(query: queries.Query) -> str:
    """The query that a table was made by; a table of the catalog by its name."""
    source = query.source if isinstance(query, queries.Select) else None
    if isinstance(source, queries.TableRef) and query == queries.Select((Star(),), source):
        return _source_form(source)
    return f"({query_form(query)})"


def _rejection(what: str) -> UnsupportedFeatureError:
    return UnsupportedFeatureError(
        f"a stored plan of {what} in the Table API", "compile a statement: compile_plan_sql('INSERT INTO …')"
    )
