"""What may stand at a place of an SQL text: columns, tables, functions, options, keys; nothing inside of texts."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from funke.engine.config.all_options import all_options
from funke.engine.sql.catalog.objects import Identifier
from funke.engine.sql.connectors.table_factories import COMMON_OPTIONS, table_factories
from funke.engine.sql.connectors.table_factory import TableContext
from funke.engine.sql.connectors.table_option import TableOption
from funke.engine.sql.functions.aggregates.catalog import AGGREGATES
from funke.engine.sql.functions.built_in_names import built_in_names
from funke.engine.sql.functions.catalog import FUNCTIONS
from funke.engine.sql.parsing.reserved_words import RESERVED_WORDS
from funke.engine.sql.parsing.tokens import Token
from funke.engine.types.logical import to_sql_text
from funke.ops.sql.text_location import TextLocation, location_of
from funke.table import TableEnvironment

__all__ = ["Suggestion", "completions", "suggestions"]

_BEFORE_TABLES = frozenset({"FROM", "JOIN", "INTO", "OVERWRITE", "DESCRIBE", "DESC", "TABLE", "VIEW"})
_AFTER_TABLES = frozenset(
    {"WHERE", "GROUP", "ORDER", "HAVING", "LIMIT", "ON", "UNION", "SELECT", "SET", "VALUES", "WINDOW"}
)
_NOT_ALIASES = RESERVED_WORDS | {"LEFT", "RIGHT", "FULL", "INNER", "JOIN", "ON", "WHERE"}
_MOST = 200


@dataclass(frozen=True)
class Suggestion:
    """A text that may stand in place of the word, and what it is."""

    text: str
    meaning: str = ""


def completions(t_env: TableEnvironment, text: str, position: int) -> list[str]:
    """The texts of the suggestions alone."""
    _, matches = suggestions(t_env, text, max(0, min(position, len(text))))
    return [each.text for each in matches]


def suggestions(t_env: TableEnvironment, text: str, position: int) -> tuple[str, list[Suggestion]]:
    """The word at a place and what it may become."""
    location = location_of(text, position)
    word = location.word.lower()
    matches: dict[str, Suggestion] = {}
    for each in _all_at(t_env, location):
        if each.text.strip("'`").lower().startswith(word) and each.text != location.word:
            matches.setdefault(each.text, each)
    return location.word, list(matches.values())[:_MOST]


def _all_at(t_env: TableEnvironment, location: TextLocation) -> Iterator[Suggestion]:
    if location.kind == "comment":
        return
    is_quoted = location.kind == "string"
    before = location.before
    if _is_after_set(before):
        yield from (_in_quotes(each, is_quoted) for each in _known_keys())
        return
    options = _options_before(before)
    if options is not None:
        yield from _option_suggestions(options, before, is_quoted)
        return
    if location.kind != "plain":
        return
    if before and before[-1].key == ".":
        yield from _after_point(t_env, location)
        return
    if _is_before_table(before):
        yield from _tables(t_env)
        return
    yield from _columns(t_env, location.statement)
    if location.word:
        yield from _functions(t_env)
        yield from (Suggestion(word) for word in sorted(RESERVED_WORDS) if word.lower() not in _signatures())


def _in_quotes(suggestion: Suggestion, is_quoted: bool) -> Suggestion:
    return suggestion if is_quoted else Suggestion(f"'{suggestion.text}'", suggestion.meaning)


# SET 'key'


def _is_after_set(before: Sequence[Token]) -> bool:
    return len(before) == 1 and before[0].key in ("SET", "RESET")


@cache
def _known_keys() -> tuple[Suggestion, ...]:
    return tuple(Suggestion(each.key, each.description) for each in all_options() if not each.no_effect)


# WITH ('key' = 'value')


def _options_before(before: Sequence[Token]) -> dict[str, str] | None:
    """The options of the WITH, or of the hint, whose parentheses are open; None elsewhere."""
    depth = 0
    for index in range(len(before) - 1, -1, -1):
        key = before[index].key
        depth += (key == ")") - (key == "(")
        if depth < 0:
            if index == 0 or before[index - 1].key not in ("WITH", "OPTIONS"):
                return None
            strings = [each.text for each in before[index + 1 :] if each.kind == "string"]
            return dict(zip(strings[::2], strings[1::2]))
    return None


def _option_suggestions(options: dict[str, str], before: Sequence[Token], is_quoted: bool) -> Iterator[Suggestion]:
    if before[-1].key == "=":
        key = before[-2].text
        values = sorted(table_factories()) if key == "connector" else _choices(options, key)
        yield from (_in_quotes(Suggestion(each), is_quoted) for each in values)
    elif before[-1].key in ("(", ","):
        for each in _table_options(options):
            if each.key not in options and "#" not in each.key:
                yield _in_quotes(Suggestion(each.key, each.description), is_quoted)


def _choices(options: dict[str, str], key: str) -> tuple[str, ...]:
    return next((each.choices for each in _table_options(options) if each.key == key), ())


def _table_options(options: dict[str, str]) -> tuple[TableOption, ...]:
    """The options of the connector that is named; without one, that of its name."""
    factory = table_factories().get(options.get("connector", ""))
    if factory is None:
        return COMMON_OPTIONS[:1]
    with contextlib.suppress(Exception):
        context = TableContext(Identifier("c", "d", "t"), (), options)
        required, optional = factory.options_for(context)
        return (*required, *optional)
    return factory.options


# Names


def _after_point(t_env: TableEnvironment, location: TextLocation) -> Iterator[Suggestion]:
    """Columns of the table or alias before the point, or tables of the database."""
    path = _path_before(location.before)
    for name, table in _tables_of(location.statement):
        columns = list(_columns_of(t_env, table)) if path and name.lower() == path[-1].lower() else []
        if columns:
            yield from columns
            return
    session = t_env._session
    for catalog in session.catalogs.list_catalogs():
        if path == (catalog,):
            yield from (Suggestion(each, "database") for each in session.catalogs.catalog(catalog).list_databases())
    catalog, database = (session.catalogs.current_catalog, path[0]) if len(path) == 1 else (*path, "", "")[:2]
    with contextlib.suppress(Exception):
        yield from (Suggestion(each, "table") for each in session.catalogs.list_tables(catalog, database))


def _path_before(before: Sequence[Token]) -> tuple[str, ...]:
    path: list[str] = []
    index = len(before) - 1
    while index > 0 and before[index].key == "." and before[index - 1].kind in ("word", "quoted"):
        path.insert(0, before[index - 1].text)
        index -= 2
    return tuple(path)


def _is_before_table(before: Sequence[Token]) -> bool:
    if not before:
        return False
    if before[-1].key in _BEFORE_TABLES:
        return True
    if before[-1].key != ",":
        return False
    # A comma in the list of FROM, and not in that of SELECT.
    depth = 0
    for token in reversed(before):
        depth += (token.key == ")") - (token.key == "(")
        if depth < 0 or (depth == 0 and token.key in _AFTER_TABLES):
            return False
        if depth == 0 and token.key == "FROM":
            return True
    return False


def _tables(t_env: TableEnvironment) -> Iterator[Suggestion]:
    catalogs = t_env._session.catalogs
    views = set(t_env.list_views())
    for name in t_env.list_tables():
        yield Suggestion(_name(name), "view" if name in views else "table")
    yield from (Suggestion(_name(each), "database") for each in t_env.list_databases())
    yield from (Suggestion(_name(each), "catalog") for each in catalogs.list_catalogs())


def _name(name: str) -> str:
    is_plain = name.replace("_", "a").isalnum() and not name[0].isdigit() and name.upper() not in RESERVED_WORDS
    return name if is_plain else f"`{name.replace('`', '``')}`"


def _tables_of(statement: Sequence[Token]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The tables that a statement reads or writes: by alias or name, with their path."""
    index = 0
    while index < len(statement):
        if not _is_before_table(statement[:index]) or statement[index].kind not in ("word", "quoted"):
            index += 1
            continue
        path = [statement[index].text]
        index += 1
        while index + 1 < len(statement) and statement[index].key == "." and statement[index + 1].kind != "operator":
            path.append(statement[index + 1].text)
            index += 2
        yield path[-1], tuple(path)
        if index < len(statement) and statement[index].key == "AS":
            index += 1
        if index < len(statement) and _is_alias(statement[index]):
            yield statement[index].text, tuple(path)
            index += 1


def _is_alias(token: Token) -> bool:
    return token.kind == "quoted" or (token.kind == "word" and token.key not in _NOT_ALIASES)


def _columns(t_env: TableEnvironment, statement: Sequence[Token]) -> Iterator[Suggestion]:
    for path in dict.fromkeys(path for _, path in _tables_of(statement)):
        yield from _columns_of(t_env, path)


def _columns_of(t_env: TableEnvironment, path: tuple[str, ...]) -> Iterator[Suggestion]:
    # Whatever is wrong with a table is said when the statement is run.
    with contextlib.suppress(Exception):
        relation = t_env._session.find_relation(path)
        if relation is not None:
            for column in relation.columns:
                yield Suggestion(_name(column.name), f"{to_sql_text(column.type)} of {path[-1]}")


def _functions(t_env: TableEnvironment) -> Iterator[Suggestion]:
    yield from (Suggestion(f"{each.upper()}(", _signatures().get(each, "")) for each in built_in_names())
    yield from (Suggestion(f"{each}(", "function") for each in t_env.list_user_defined_functions())


@cache
def _signatures() -> dict[str, str]:
    """The forms of functions by name, each on one line."""
    scalar = {name: f"{name.upper()}({each.forms})" for name, each in FUNCTIONS.items()}
    aggregates = {name: f"{name.upper()}({each.forms})" for each in AGGREGATES for name in each.names}
    return {**scalar, **aggregates}
