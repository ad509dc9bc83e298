"""TO_CHANGELOG and FROM_CHANGELOG behind FROM: changes of a table as rows with the code of the change, and back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from funke.engine.flink_exceptions import ValidationException
from funke.engine.sql.binding.relations import Column, Relation
from funke.engine.sql.binding.scope import Scope, rejected
from funke.engine.sql.syntax import expressions as syntax
from funke.engine.sql.syntax import queries
from funke.engine.types.logical import CHARACTER, LONGEST, VarCharType, to_sql_text
from funke.engine.types.row import RowKind

__all__ = ["FromChangelog", "ToChangelog", "bind_changelog_function"]

_CODE = VarCharType(LONGEST)
_NAMES = sorted(kind.name for kind in RowKind)


@dataclass(frozen=True)
class ToChangelog(Relation):
    """The changes of the input as rows: the code of a change, then its columns. Changes without a code are dropped."""

    input: Relation
    codes: tuple[tuple[RowKind, str], ...]


@dataclass(frozen=True)
class FromChangelog(Relation):
    """The rows of the input as changes. The column at `op_index` has their codes and is left out."""

    input: Relation
    op_index: int
    kinds: tuple[tuple[str, RowKind], ...]


def bind_changelog_function(
    function: queries.ChangelogFunction, bind_source: Callable[[queries.Relation], tuple[Relation, Scope]]
) -> Relation:
    """The meaning of TO_CHANGELOG or FROM_CHANGELOG."""
    # Flink gives both functions row semantics: every row stands for itself.
    if function.partition_by:
        raise rejected(
            "Only tables with set semantics may be partitioned. Invalid PARTITION BY clause in the 0-th operand of "
            f"table function '{function.kind.upper()}'",
            function.position,
        )
    source, scope = bind_source(function.input)
    columns = tuple(replace(column, name=named.name) for named, column in zip(scope.columns, source.columns))
    bind = _to_changelog if function.kind == "to_changelog" else _from_changelog
    return bind(source, columns, _op_column(function.op), _pairs(function.op_mapping))


def _to_changelog(
    source: Relation, columns: tuple[Column, ...], op: str, pairs: list[tuple[str, str]] | None
) -> ToChangelog:
    if op in [column.name for column in columns]:
        raise ValidationException(f"Field names must be unique. Found duplicates: [{op}]")
    # Without a mapping every kind has its own name as its code. With one, kinds that it leaves out are dropped.
    codes = {kind: kind.name for kind in RowKind} if pairs is None else {}
    for names, code in pairs or ():
        for kind in map(_kind, names.split(",")):
            if kind in codes:
                raise _rejected(f"Duplicate change operation: '{kind.name}'.")
            codes[kind] = code
    return ToChangelog((Column(op, _CODE), *columns), source, tuple(codes.items()))


def _from_changelog(
    source: Relation, columns: tuple[Column, ...], op: str, pairs: list[tuple[str, str]] | None
) -> FromChangelog:
    op_index = _op_index(op, columns)
    kinds = {kind.name: kind for kind in RowKind} if pairs is None else {}
    for codes, name in pairs or ():
        kind = _kind(name)
        # The way back must be unique: several codes may mean one kind, but only under one key of the map.
        if kind in kinds.values():
            raise _rejected(
                f"Duplicate change operation: '{kind.name}'. Use comma-separated keys to map multiple codes to the "
                "same operation (e.g., MAP['c, r', 'INSERT'])."
            )
        kinds.update((code.strip(), kind) for code in codes.split(","))
    # Upserts need a key, which the function does not have.
    if RowKind.UPDATE_AFTER in kinds.values() and RowKind.UPDATE_BEFORE not in kinds.values():
        raise ValidationException(
            "The 'op_mapping' must include UPDATE_BEFORE for retract mode. Upsert mode (without UPDATE_BEFORE) is not "
            "supported in this version."
        )
    return FromChangelog((*columns[:op_index], *columns[op_index + 1 :]), source, op_index, tuple(kinds.items()))


def _op_index(op: str, columns: tuple[Column, ...]) -> int:
    index = next((index for index, column in enumerate(columns) if column.name == op), None)
    if index is None:
        raise ValidationException(f"The op column '{op}' does not exist in the input schema.")
    if not isinstance(columns[index].type, CHARACTER):
        type_text = to_sql_text(columns[index].type)
        raise ValidationException(f"The op column '{op}' must be of STRING type, but was '{type_text}'.")
    return index


def _op_column(descriptor: syntax.Expression | None) -> str:
    if descriptor is None:
        return "op"
    if isinstance(descriptor, syntax.Call) and descriptor.name == "descriptor" and len(descriptor.arguments) == 1:
        (column,) = descriptor.arguments
        if isinstance(column, syntax.Name):
            return column.parts[0]
    raise ValidationException("The descriptor for argument 'op' must contain exactly one column name.")


# The map leads to what is sent: MAP['INSERT, UPDATE_AFTER', 'u'] for TO_CHANGELOG, MAP['c, r', 'INSERT'] for
# FROM_CHANGELOG. So a list of names stands in the key in both, of kinds in one and of codes in the other.
def _pairs(mapping: syntax.Expression | None) -> list[tuple[str, str]] | None:
    """Keys and values of a MAP of constant strings."""
    if mapping is None:
        return None
    parts = mapping.arguments if isinstance(mapping, syntax.Call) and mapping.name == "map" else ()
    strings = [each.value for each in parts if isinstance(each, syntax.Literal) and isinstance(each.value, str)]
    if not parts or len(strings) < len(parts):
        raise ValidationException("The 'op_mapping' argument must be a constant MAP literal.")
    return list(zip(strings[::2], strings[1::2]))


def _kind(name: str) -> RowKind:
    word = name.strip()
    if word not in _NAMES:
        raise _rejected(f"Unknown change operation: '{word}'. Valid values are: [{', '.join(_NAMES)}].")
    return RowKind[word]


def _rejected(reason: str) -> ValidationException:
    return ValidationException(f"Invalid target mapping for argument 'op_mapping'. {reason}")
