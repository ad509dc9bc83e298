"""Arguments of a call, of which the last ones may have names (`as_argument`)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from funke.engine.errors import GraphError, at_user_line
from funke.engine.sql.syntax import expressions as syntax
from funke.table.expression_members.operands import to_syntax

__all__ = ["named_arguments"]


def named_arguments(arguments: Iterable[Any]) -> tuple[tuple[syntax.Expression, ...], tuple[str, ...]]:
    """Return the arguments, and the names of the last ones."""
    values: list[syntax.Expression] = []
    names: list[str] = []
    for argument in map(to_syntax, arguments):
        if isinstance(argument, syntax.Call) and argument.name == "as_argument":
            value, name = argument.arguments
            values.append(value)
            names.append(str(name.value) if isinstance(name, syntax.Literal) else "")
        elif names:
            raise GraphError(at_user_line(f"the argument after the named argument {names[-1]!r} needs a name too"))
        else:
            values.append(argument)
    return tuple(values), tuple(names)
