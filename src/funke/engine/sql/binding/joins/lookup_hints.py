"""The hint LOOKUP, which sets how a lookup join asks its table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from funke.engine.config.option_values import parse_boolean, parse_duration, parse_integer
from funke.engine.errors import ConfigurationError
from funke.engine.flink_exceptions import ValidationException
from funke.engine.sql.syntax import queries

__all__ = ["LookupHint", "Retry", "bind_lookup_hints"]

# Hints that Flink knows. Those of batch joins change how a query runs, and not its result.
_HINT_NAMES = frozenset(
    {
        "BROADCAST",
        "EARLY_FIRE",
        "LOOKUP",
        "MULTI_JOIN",
        "NEST_LOOP",
        "OPTIONS",
        "SHUFFLE_HASH",
        "SHUFFLE_MERGE",
        "STATE_TTL",
    }
)
_RETRY_KEYS = ("retry-predicate", "retry-strategy", "fixed-delay", "max-attempts")
_MODES = {"ordered": True, "allow_unordered": False}

Hints = tuple[tuple[str, tuple[tuple[str, str], ...]], ...]


@dataclass(frozen=True)
class Retry:
    """Repeats of a lookup that found nothing: their number, and the pause before each."""

    delay_ms: int
    max_attempts: int


@dataclass(frozen=True)
class LookupHint:
    """The settings of a hint; None leaves one to the options of the table and of the session."""

    is_async: bool | None = None
    is_ordered: bool | None = None
    capacity: int | None = None
    timeout_ms: int | None = None
    retry: Retry | None = None
    is_shuffled: bool = False


def bind_lookup_hints(hints: Hints, source: queries.Relation | None) -> Mapping[str, LookupHint]:
    """The hints for lookup joins of a query, by the name that it has for the table."""
    table_hints: dict[str, LookupHint] = {}
    for name, options in hints:
        if name not in _HINT_NAMES:
            raise ValidationException(f"Hint: {name} should be registered in the HintStrategyTable")
        if name == "LOOKUP":
            table, hint = _hint(options)
            # As in Flink, where one table has several hints the first one counts.
            table_hints.setdefault(table, hint)
    if table_hints and isinstance(source, queries.Join):
        names = set(_table_names(source))
        unknown = [f"`{each}` in `LOOKUP`" for each in table_hints if each not in names]
        if unknown:
            raise ValidationException(
                "The options of following hints cannot match the name of input tables or views: \n" + "\n".join(unknown)
            )
    return table_hints


def _table_names(source: queries.Relation) -> Iterable[str]:
    if isinstance(source, queries.Join):
        yield from _table_names(source.left)
        yield from _table_names(source.right)
    elif source.alias is not None:
        yield source.alias
    elif isinstance(source, queries.TableRef):
        yield source.path[-1]
        yield ".".join(source.path)


def _hint(options: tuple[tuple[str, str], ...]) -> tuple[str, LookupHint]:
    if any(not value for _, value in options):
        raise _rejected("list options in LOOKUP hint, only support key-value options.")
    values = dict(options)
    if "table" not in values:
        raise _rejected(
            "LOOKUP hint: incomplete required option(s): [Key: 'table' , default: null (fallback keys: [])]"
        )
    hint = LookupHint(
        _value(values, "async", parse_boolean),
        _value(values, "output-mode", lambda text: _MODES[text.lower()]),
        _value(values, "capacity", parse_integer),
        _value(values, "timeout", lambda text: parse_duration(text).to_millis()),
        _retry(values),
        bool(_value(values, "shuffle", parse_boolean)),
    )
    return values["table"], hint


def _retry(options: Mapping[str, str]) -> Retry | None:
    delay_ms = _value(options, "fixed-delay", lambda text: parse_duration(text).to_millis())
    attempts = _value(options, "max-attempts", parse_integer)
    strategy = _value(options, "retry-strategy", lambda text: {"fixed_delay": "FIXED_DELAY"}[text.lower()])
    predicate = options.get("retry-predicate")
    values = (predicate, strategy, delay_ms, attempts)
    if all(each is None for each in values):
        return None
    if any(each is None for each in values):
        raise _rejected("LOOKUP hint: retry options can be both null or all not null")
    if predicate != "lookup_miss":
        raise _rejected(
            f"LOOKUP hint option: unsupported retry-predicate '{predicate}', only 'lookup_miss' is supported currently"
        )
    assert delay_ms is not None and attempts is not None
    if attempts <= 0:
        raise _rejected(f"LOOKUP hint option: max-attempts value should be positive integer but was {attempts}")
    return Retry(delay_ms, attempts)


def _value(options: Mapping[str, str], key: str, parse: Callable[[str], Any]) -> Any:
    if key not in options:
        return None
    try:
        return parse(options[key])
    except (KeyError, ValueError, ConfigurationError):
        raise _rejected(f"LOOKUP hint options: Could not parse value '{options[key]}' for key '{key}'.") from None


def _rejected(what: str) -> ValidationException:
    return ValidationException(f"Invalid {what}")
