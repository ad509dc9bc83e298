"""Gives TO_CHANGELOG and FROM_CHANGELOG their meaning: changes as rows that say their kinds, and back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from funke.engine.flink_exceptions import ValidationException
from funke.engine.sql.binding.relations import Column, Relation
from funke.engine.sql.syntax import expressions as syntax
from funke.engine.types.logical.atomic_types import VarCharType
from funke.engine.types.logical.families import CHARACTER, LONGEST
from funke.engine.types.row import RowKind

__all__ = ["ChangesAsRows", "RowsAsChanges", "bind_from_changelog", "bind_to_changelog"]

_OP = "op"
_ALL = {kind.name: kind.name for kind in RowKind}


@dataclass(frozen=True)
class ChangesAsRows(Relation):
    """One row for each change, with the code of its kind as the first column; kinds without a code are left out."""

    input: Relation
    codes: tuple[tuple[RowKind, str], ...]


@dataclass(frozen=True)
class RowsAsChanges(Relation):
    """The rows without the column that says their kinds, as changes of these kinds."""

    input: Relation
    op: int
    codes: tuple[tuple[str, RowKind], ...]


def bind_to_changelog(source: Relation, arguments: Iterable[syntax.Expression]) -> ChangesAsRows:
    """The changes of a table as rows."""
    op, mapping = _arguments(arguments)
    codes = [(kind, code) for names, code in (mapping or _ALL).items() for kind in map(_kind, _listed(names))]
    return ChangesAsRows((Column(op, VarCharType(LONGEST)), *source.columns), source, tuple(codes))


def bind_from_changelog(source: Relation, arguments: Iterable[syntax.Expression]) -> RowsAsChanges:
    """Rows that say their kinds as the changes of a table."""
    op, mapping = _arguments(arguments)
    names = [each.name for each in source.columns]
    if op not in names:
        raise ValidationException(f"The op column '{op}' does not exist in the input schema.")
    place = names.index(op)
    if not isinstance(source.columns[place].type, CHARACTER):
        raise ValidationException(f"The op column '{op}' must be of STRING type.")
    codes = [(code, _kind(name)) for listed, name in (mapping or _ALL).items() for code in _listed(listed)]
    columns = (*source.columns[:place], *source.columns[place + 1 :])
    return RowsAsChanges(columns, source, place, tuple(codes))


def _kind(name: str) -> RowKind:
    if name not in _ALL:
        raise ValidationException(
            f"Invalid target mapping for argument 'op_mapping'. Unknown change operation: '{name}'. Valid values are: "
            f"[{', '.join(sorted(_ALL))}]."
        )
    return RowKind[name]


def _listed(names: str) -> list[str]:
    return [each.strip() for each in names.split(",")]


def _arguments(arguments: Iterable[syntax.Expression]) -> tuple[str, Mapping[str, str] | None]:
    """The column of the kinds, and what stands for each of them."""
    op, mapping = _OP, None
    for each in arguments:
        name, value = _named(each)
        if name == "op" and isinstance(value, syntax.Call) and value.name == "descriptor" and len(value.arguments) == 1:
            (column,) = value.arguments
            assert isinstance(column, syntax.Name)
            op = column.parts[-1]
        elif name == "op_mapping" and isinstance(value, syntax.Call) and value.name == "map":
            texts = [_text(part) for part in value.arguments]
            mapping = dict(zip(texts[::2], texts[1::2]))
        else:
            raise ValidationException(
                f"an argument is op (a descriptor of one column) or op_mapping (a map), not {name}"
            )
    return op, mapping


def _named(argument: syntax.Expression) -> tuple[str, syntax.Expression]:
    if isinstance(argument, syntax.Call) and argument.name == "as_argument":
        value, name = argument.arguments
        return _text(name), value
    raise ValidationException("arguments are named: descriptor('code').as_argument('op')")


def _text(expression: syntax.Expression) -> str:
    if isinstance(expression, syntax.Literal) and isinstance(expression.value, str):
        return expression.value
    raise ValidationException("op_mapping has constant texts as keys and values")
