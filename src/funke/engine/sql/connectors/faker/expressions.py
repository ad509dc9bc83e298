"""Expressions such as `#{Name.first_name} of #{number.numberBetween '1','99'}`: texts with values in them."""

from __future__ import annotations

import datetime
import functools
import inspect
import random
import re
from collections.abc import Callable

from funke.engine.errors import did_you_mean
from funke.engine.flink_exceptions import ValidationException
from funke.engine.sql.connectors.faker.invented_values import INVENTED
from funke.engine.sql.connectors.faker.random_patterns import pattern_maker

__all__ = ["InventedValue", "expression_maker"]

InventedValue = str | datetime.datetime
_CALL = re.compile(r"#\{\s*([\w.]+)\s*((?:'(?:[^']|'')*'|[^'}])*)\}")
_ARGUMENT = re.compile(r"'((?:[^']|'')*)'")
_REGEXIFY = "regexify"


@functools.cache
def expression_maker(text: str) -> Callable[[random.Random], InventedValue]:
    """Return the maker of values of an expression; a text that is a single call keeps times as they are."""
    parts: list[str | Callable[[random.Random], InventedValue]] = []
    end = 0
    for call in _CALL.finditer(text):
        parts += [text[end : call.start()], _value_of(call[1], tuple(_ARGUMENT.findall(call[2])), text)]
        end = call.end()
    parts.append(text[end:])
    calls = [each for each in parts if callable(each)]
    if "#{" in "".join(each for each in parts if isinstance(each, str)):
        raise ValidationException(
            f"Unable to parse the expression '{text}': a call is #{{Provider.method 'argument'}}."
        )
    if len(calls) == 1 and not any(each for each in parts if isinstance(each, str)):
        return calls[0]
    return lambda chance: "".join(each if isinstance(each, str) else str(each(chance)) for each in parts)


def _value_of(name: str, arguments: tuple[str, ...], text: str) -> Callable[[random.Random], InventedValue]:
    key = name.replace("_", "").lower()
    if key == _REGEXIFY and len(arguments) == 1:
        return pattern_maker(arguments[0])
    make = INVENTED.get(key)
    if make is None:
        names = ", ".join(sorted([*INVENTED, _REGEXIFY]))
        hint = did_you_mean(key, INVENTED, begin=" Did")
        raise ValidationException(f"Unknown call '{name}' in the expression '{text}'.{hint} Known are: {names}.")
    try:
        inspect.signature(make).bind(None, *arguments)
        value = functools.partial(_called, make, arguments)
        value(random.Random(0))
    except (TypeError, ValueError, KeyError, IndexError) as error:
        argument_list = ", ".join(map(repr, arguments)) or "none"
        raise ValidationException(
            f"Wrong arguments of '{name}' in the expression '{text}': {argument_list} ({error})."
        ) from None
    return value


def _called(make: Callable[..., InventedValue], arguments: tuple[str, ...], chance: random.Random) -> InventedValue:
    return make(chance, *arguments)
