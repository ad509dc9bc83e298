"""How option values are written: durations, sizes, booleans, lists and maps, in Flink's notation."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping
from enum import Enum
from typing import Any

from funke.engine.errors import ConfigurationError
from funke.engine.types.number_text import double_text
from funke.engine.types.time import Duration

__all__ = [
    "format_value",
    "parse_boolean",
    "parse_duration",
    "parse_float",
    "parse_integer",
    "parse_list",
    "parse_map",
    "parse_memory_bytes",
    "parse_yaml_list",
]

_NANOS = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 10**9, "min": 60 * 10**9, "h": 3600 * 10**9, "d": 86400 * 10**9}
_DURATION_UNITS = {
    "ns": ("ns", "nano", "nanos", "nanosecond", "nanoseconds"),
    "us": ("µs", "us", "micro", "micros", "microsecond", "microseconds"),
    "ms": ("", "ms", "milli", "millis", "millisecond", "milliseconds"),
    "s": ("s", "sec", "secs", "second", "seconds"),
    "min": ("m", "min", "minute", "minutes"),
    "h": ("h", "hour", "hours"),
    "d": ("d", "day", "days"),
}
_NANOS_BY_WORD = {word: _NANOS[unit] for unit, words in _DURATION_UNITS.items() for word in words}

_MEMORY_UNITS = ("b bytes", "k kb kibibytes", "m mb mebibytes", "g gb gibibytes", "t tb tebibytes")
_BYTES_BY_WORD = {"": 1, **{word: 1024**i for i, words in enumerate(_MEMORY_UNITS) for word in words.split()}}

# A comment begins with a space and ends with the line; what is quoted holds none.
_COMMENT = re.compile(r"""(?<!['"])\s#[^'"]*$""")
_AMOUNT = re.compile(r"(\d+)\s*([a-zµ]*)")
_ISO_DURATION = re.compile(r"P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?", re.IGNORECASE)


def _amount(text: str, unit_sizes: Mapping[str, int], what: str) -> int:
    match = _AMOUNT.fullmatch(text.strip().lower())
    if match is None or match.group(2) not in unit_sizes:
        units = ", ".join(word for word in unit_sizes if word)
        raise ConfigurationError(f"{text!r} is not a {what}: write a number and a unit ({units})")
    return int(match.group(1)) * unit_sizes[match.group(2)]


def parse_duration(value: Any) -> Duration:
    """Read a duration: ``10 s``, ``1 min``, ``PT1M``, or a number of milliseconds."""
    if isinstance(value, Duration):
        return value
    if hasattr(value, "total_seconds"):
        return Duration.of_millis(round(value.total_seconds() * 1000))
    text = str(value)
    iso = _ISO_DURATION.fullmatch(text.strip())
    if iso is not None and any(iso.groups()):
        days, hours, minutes, seconds = iso.groups("0")
        whole = (int(days) * 24 + int(hours)) * 60 + int(minutes)
        return Duration.of_nanos(whole * _NANOS["min"] + round(float(seconds) * _NANOS["s"]))
    return Duration.of_nanos(_amount(text, _NANOS_BY_WORD, "duration"))


def parse_memory_bytes(value: Any) -> int:
    """Read a size: ``64 mb``, ``1g``, or a number of bytes."""
    return _amount(str(value), _BYTES_BY_WORD, "memory size")


def parse_boolean(value: Any) -> bool:
    """Read ``true`` or ``false`` in any case."""
    text = format_value(value).strip().lower()
    if text not in ("true", "false"):
        raise ConfigurationError(f"{text!r} is not a boolean: write true or false")
    return text == "true"


def parse_integer(value: Any) -> int:
    """Read an integer."""
    try:
        return int(format_value(value).strip())
    except ValueError:
        raise ConfigurationError(f"{value!r} is not an integer") from None


def parse_float(value: Any) -> float:
    """Read a number."""
    try:
        return float(format_value(value).strip())
    except ValueError:
        raise ConfigurationError(f"{value!r} is not a number") from None


def parse_list(value: Any) -> list[str]:
    """Read a list: one of YAML, ``[a, b]`` or lines that begin with a dash, or items separated by semicolons."""
    if isinstance(value, (list, tuple)):
        return [str(item) for item in value]
    items = parse_yaml_list(str(value))
    return [item for item in str(value).strip().split(";") if item] if items is None else items


def parse_yaml_list(text: str) -> list[str] | None:
    """Read a list in one of YAML's two forms; None when the text is something else."""
    text = text.strip()
    if text.startswith("[") and text.endswith("]"):
        return [_unquote(item) for item in _split_outside_quotes(text[1:-1], ",") if item.strip()]
    lines = [line for line in map(str.strip, text.splitlines()) if line and not line.startswith("#")]
    if lines and all(line.startswith("- ") for line in lines):
        return [_unquote(_COMMENT.sub("", line[2:])) for line in lines]
    return None


def parse_map(value: Any) -> dict[str, str]:
    """Read a map: ``{a: 1, b: 2}`` or ``a:1,b:2``."""
    if isinstance(value, Mapping):
        return {str(key): str(item) for key, item in value.items()}
    text = str(value).strip()
    if text.startswith("{") and text.endswith("}"):
        text = text[1:-1]
    result = {}
    for entry in _split_outside_quotes(text, ","):
        key, colon, item = entry.partition(":")
        if entry.strip():
            if not colon:
                raise ConfigurationError(f"{entry.strip()!r} is not a map entry: write key:value")
            result[_unquote(key)] = _unquote(item)
    return result


def _split_outside_quotes(text: str, separator: str) -> list[str]:
    return re.split(separator + r"(?=(?:[^'\"]|'[^']*'|\"[^\"]*\")*$)", text)


def _unquote(text: str) -> str:
    text = text.strip()
    quoted = len(text) > 1 and text[0] in "'\"" and text[-1] == text[0]
    return text[1:-1] if quoted else text


def format_value(value: Any) -> str:
    """Write a value the way a configuration file holds it."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return double_text(value)
    if isinstance(value, (bytes, bytearray)):
        return "!!binary |-\n  " + base64.b64encode(value).decode()
    if isinstance(value, Duration):
        return _format_duration(value)
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(_quote(str(item)) for item in value)}]"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_quote(str(key))}: {_quote(str(item))}" for key, item in value.items()) + "}"
    return str(value)


def _format_duration(value: Duration) -> str:
    nanos = value.to_nanos()
    for unit in ("d", "h", "min", "s", "ms", "us"):
        if nanos and nanos % _NANOS[unit] == 0:
            return f"{nanos // _NANOS[unit]} {unit}"
    return f"{nanos} ns" if nanos else "0 ms"


def _quote(text: str) -> str:
    return json.dumps(text, ensure_ascii=False) if re.search(r"[,:{}\[\];'\"#]|^\s|\s$|^$", text) else text
